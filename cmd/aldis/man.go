package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"aldis/internal/config"
)

// manCmd writes a manual page for the program and one for each command, for
// packages to install.
type manCmd struct {
	Dir string `arg:"" help:"Folder for them, made if it is not there."`
}

func (c manCmd) Run(k *kong.Context) error {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return fmt.Errorf("make the folder for the manual pages: %w", err)
	}
	for _, p := range manPages(k.Model, thisBuild()) {
		if err := os.WriteFile(filepath.Join(c.Dir, p.name+".1"), []byte(p.text), 0o644); err != nil {
			return fmt.Errorf("write a manual page: %w", err)
		}
	}
	return nil
}

// A manPage is a manual page of section 1.
type manPage struct{ name, text string }

// manPages are the pages of the program, in the man(7) macros.
func manPages(app *kong.Application, b build) []manPage {
	pages := []manPage{{app.Name, manTop(app, b)}}
	for _, command := range app.Children {
		if command.Hidden {
			continue
		}
		m := newMan(app.Name+"-"+command.Name, b)
		m.section("NAME", roff(app.Name+"-"+command.Name)+` \- `+roff(strings.TrimSuffix(command.Help, ".")))
		m.command(command)
		m.section("SEE ALSO", `.BR `+roff(app.Name)+` (1)`)
		pages = append(pages, manPage{app.Name + "-" + command.Name, m.String()})
	}
	return pages
}

// manTop is the page of the program as a whole.
func manTop(app *kong.Application, b build) string {
	m := newMan(app.Name, b)
	m.section("NAME", roff(app.Name)+` \- `+roff(strings.TrimSuffix(app.Help, ".")))
	m.section("SYNOPSIS", `.B `+roff(app.Name)+"\n\\fICOMMAND\\fR [\\fIFLAGS\\fR] [\\fIARGUMENTS\\fR]")
	m.section("COMMANDS")
	for _, command := range app.Children {
		if !command.Hidden {
			m.item(fmt.Sprintf(`.BR %s (1)`, roff(app.Name+"-"+command.Name)), command.Help)
		}
	}
	m.section("ENVIRONMENT", roff("A flag beats its variable, the variable beats the file that --env-file or ALDIS_CONFIG names, the file beats the default. The page of a command has its variables."))
	m.section("EXIT STATUS")
	m.item("0", "It is done.")
	m.item("1", "It was tried and did not work.")
	m.item("2", "A setting or an argument is wrong, and nothing was tried.")
	return m.String()
}

// A man is a manual page that is being written.
type man struct{ strings.Builder }

func newMan(name string, b build) *man {
	m := &man{}
	day, _, _ := strings.Cut(b.Date, "T")
	fmt.Fprintf(m, ".TH %q 1 %q %q %q\n", strings.ToUpper(name), cmp.Or(day, "unreleased"), "aldis "+b.Version, "Aldis")
	return m
}

// section starts a section; lines may have macros.
func (m *man) section(name string, lines ...string) {
	fmt.Fprintf(m, ".SH %s\n", name)
	for _, line := range lines {
		m.WriteString(line + "\n")
	}
}

// item adds an entry of a list: its term may have macros, its text has none.
func (m *man) item(term, text string) {
	fmt.Fprintf(m, ".TP\n%s\n%s\n", term, roff(text))
}

// command adds what a command and those below it do.
func (m *man) command(node *kong.Node) {
	m.section("SYNOPSIS")
	for i, leaf := range leaves(node) {
		if i > 0 {
			m.WriteString(".br\n")
		}
		m.WriteString(".B " + roff(leaf.FullPath()) + "\n")
		m.WriteString(roff(strings.TrimPrefix(leaf.Summary(), leaf.Path())) + "\n")
	}
	m.section("DESCRIPTION", roff(node.Help))
	m.detail(node)
	for _, leaf := range leaves(node) {
		title := "OPTIONS"
		if leaf != node {
			title = strings.ToUpper(leaf.Path())
		}
		m.section(title)
		if leaf != node {
			m.WriteString(roff(leaf.Help) + "\n")
			m.detail(leaf)
		}
		m.values(leaf)
	}
}

// leaves are the commands that run below node, or node if it runs itself.
func leaves(node *kong.Node) []*kong.Node {
	if node.Leaf() {
		return []*kong.Node{node}
	}
	return node.Leaves(true)
}

// detail adds the longer help of a command, line by line as it is.
func (m *man) detail(node *kong.Node) {
	if node.Detail != "" {
		m.WriteString(".PP\n.nf\n" + roff(node.Detail) + "\n.fi\n")
	}
}

// values adds the arguments and flags of a command.
func (m *man) values(leaf *kong.Node) {
	for _, p := range leaf.Positional {
		m.item(`\fI`+roff(p.Summary())+`\fR`, p.Help)
	}
	for _, f := range leaf.Flags {
		if f.Hidden {
			continue
		}
		term := `\fB` + roff("--"+f.Name) + `\fR`
		if !f.IsBool() {
			term += `=\fI` + roff(f.FormatPlaceHolder()) + `\fR`
		}
		text := f.Help
		if vars := config.Variables(f.Value); len(vars) > 0 {
			text += " Variables: " + strings.Join(vars, ", ") + "."
		}
		m.item(term, text)
	}
}

// roff escapes text, which may have several lines, for a line of a page.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n\n", "\n\\&\n").Replace(strings.TrimSpace(text))
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
