package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// pages are the documents, by their path below the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "dist/*/*.md", "plugin/*.md", "plugin/*/*/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			texts[filepath.ToSlash(name)] = strings.ReplaceAll(string(b), "\r\n", "\n")
		}
	}
	return texts
}

var (
	fence   = regexp.MustCompile("(?sm)^```(\\w*)[^\n]*\n(.*?)^```$")
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// anchors are what headings of a page can be linked by, as forges make them.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	drop := regexp.MustCompile(`[^\p{L}\p{N}\s_-]`)
	for _, h := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		title := link.ReplaceAllString(h[1], "]")
		slug := strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-")
		for n := 1; all[slug]; n++ {
			slug = fmt.Sprintf("%s-%d", strings.TrimSuffix(slug, fmt.Sprintf("-%d", n-1)), n)
		}
		all[slug] = true
	}
	return all
}

// TestLinksOfTheDocs follows each link within the repository, to its heading
// too.
func TestLinksOfTheDocs(t *testing.T) {
	texts := pages(t)
	for name, text := range texts {
		for _, l := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			u, err := url.Parse(l[1])
			if err != nil {
				t.Errorf("%s: the link %s: %v", name, l[1], err)
				continue
			}
			if u.IsAbs() {
				continue
			}
			to := name
			if u.Path != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(name), u.Path))
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links %s: %v", name, l[1], err)
			} else if u.Fragment != "" && !anchors(texts[to])[u.Fragment] {
				t.Errorf("%s links %s, and there is no such heading", name, l[1])
			}
		}
	}
}

// TestCommandsOfTheDocs has the real parser take each call of the program in
// what people copy. Blocks below "A test runs exactly this." are run too, see
// package test.
func TestCommandsOfTheDocs(t *testing.T) {
	for name, text := range pages(t) {
		t.Run(name, func(t *testing.T) {
			for _, block := range fence.FindAllStringSubmatch(text, -1) {
				if block[1] == "sh" || block[1] == "console" {
					checkLines(t, block[2])
				}
			}
		})
	}
}

// A listedTool is a tool as tools/list has it.
type listedTool struct {
	Name        string
	InputSchema struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
}

// TestToolsReference compares docs/reference.md with the tools as agents and
// hosts are told of them; other tests hold these lists to the code.
func TestToolsReference(t *testing.T) {
	page := pages(t)["docs/reference.md"]
	for _, list := range []string{"internal/mcp/testdata/tools.json", "internal/desktop/tools/testdata/tools.json"} {
		b, err := os.ReadFile(filepath.Join(root, list))
		if err != nil {
			t.Fatal(err)
		}
		var tools []listedTool
		if b[0] == '[' {
			err = json.Unmarshal(b, &tools)
		} else {
			err = json.Unmarshal(b, &struct{ Tools *[]listedTool }{&tools})
		}
		if err != nil || len(tools) == 0 {
			t.Fatalf("%s: %d tools, %v", list, len(tools), err)
		}
		for _, tool := range tools {
			checkTool(t, page, tool.Name, tool.InputSchema.Properties, tool.InputSchema.Required)
		}
	}
}

// checkTool finds a tool's row, with its arguments in the second column; those
// that need not be given have a ?.
func checkTool(t *testing.T, page, name string, properties map[string]json.RawMessage, required []string) {
	t.Helper()
	row := regexp.MustCompile("(?m)^\\| `" + name + "` \\|([^|]*)\\|").FindStringSubmatch(page)
	if row == nil {
		t.Errorf("docs/reference.md has no tool %s", name)
		return
	}
	want := map[string]bool{}
	for p := range properties {
		want[p+"?"] = true
	}
	for _, p := range required {
		delete(want, p+"?")
		want[p] = true
	}
	for _, argument := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
		if !want[argument[1]] {
			t.Errorf("%s has no argument %s", name, argument[1])
		}
		delete(want, argument[1])
	}
	for argument := range want {
		t.Errorf("docs/reference.md does not say that %s has %s", name, argument)
	}
}

// TestEndpointsReference finds everything that manages the hub on the page.
func TestEndpointsReference(t *testing.T) {
	page := pages(t)["docs/http.md"]
	for _, r := range new(hubProcess).adminRoutes(hookAPI{}) {
		if !strings.Contains(page, "`"+r.pattern+"`") {
			t.Errorf("docs/http.md lacks %s", r.pattern)
		}
	}
}
