package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"aldis/internal/config"
	"aldis/internal/hub"
	"aldis/internal/install"
)

// A clientFile says which entry of which file is meant.
type clientFile struct {
	Client  string `arg:"" enum:"claude-code,claude-desktop,crush,opencode,codex,cursor,vscode,json" help:"claude-code, claude-desktop, crush, opencode, codex, cursor, vscode, or json for any other."`
	Name    string `placeholder:"NAME" help:"Name of the entry. Default: aldis, or signal-history."`
	History bool   `help:"The entry for Signal Desktop's history."`
	Project bool   `help:"The project's file, in this folder, in place of your own."`
	File    string `placeholder:"PATH" help:"Another file than the client's usual one."`
}

// find returns the client and its file, "" if none is known, and settles the
// entry's name.
func (f *clientFile) find(e env) (*install.Client, string, error) {
	c, err := install.Find(f.Client)
	if err != nil {
		return nil, "", usageError{err}
	}
	if f.Name == "" && f.History {
		f.Name = install.HistoryName
	} else if f.Name == "" {
		f.Name = install.DefaultName
	}
	if f.File != "" {
		return c, f.File, nil
	}
	world, err := install.Here(e.getenv)
	if err != nil {
		return nil, "", fmt.Errorf("find the files of %s: %w; name its file by --file", c.Title, err)
	}
	scope := install.User
	if f.Project {
		scope = install.Project
	}
	path := c.Path(world, scope)
	if path == "" && f.Project && f.Client != "json" {
		return nil, "", usageError{fmt.Errorf("%s has no file for a project: leave --project out", c.Title)}
	}
	return c, path, nil
}

// installCmd is aldis install.
type installCmd struct {
	clientFile
	config.Hub

	Agent    hub.AgentID   `placeholder:"AGENT" help:"Name of the agent. Default: whom the token is for."`
	HTTP     bool          `name:"http" help:"Let the client call the hub itself, without aldis attach between, which outlives restarts of the hub."`
	Seat     bool          `help:"With --http: name the agent in the URL; one session has the name at a time."`
	Token    config.Secret `placeholder:"TOKEN" help:"Write the token itself into the file, in place of the variable's name."`
	TokenVar string        `default:"ALDIS_TOKEN" placeholder:"VARIABLE" help:"Variable of the client's environment that has the token."`
	Write    bool          `help:"Edit the file, and keep a copy of it as it was, in place of printing the lines."`
}

// Help shows examples. Kong calls it.
func (*installCmd) Help() string {
	return `Without --write the lines go to standard output, and what to do with them to standard error.

Examples:
  aldis install claude-code --agent deploy-bot
  aldis install crush --agent crush-signal --write
  aldis install codex --agent codex --http --hub https://hub.example --write
  aldis install claude-desktop --agent desk --env-file ~/.config/aldis/aldis.env --write
  aldis install cursor --history --project`
}

func (c *installCmd) Run(e env) error {
	client, path, err := c.find(e)
	if err != nil {
		return err
	}
	wish, err := c.wish()
	if err != nil {
		return err
	}
	server, err := client.Server(wish)
	switch {
	case err != nil:
		return usageError{err}
	case !c.Write:
		return c.print(e, client, server, path, wish)
	case path == "":
		return usageError{fmt.Errorf("no file of %s is known: name it by --file", client.Title)}
	}
	change, err := client.Put(path, server)
	if err != nil {
		return err
	}
	if err := makeChange(e, change, wish.Token.Literal != ""); err != nil {
		return err
	}
	c.advise(e, client, wish)
	return nil
}

// wish is what the settings ask for.
func (c *installCmd) wish() (install.Wish, error) {
	w := install.Wish{
		Name: c.Name, Command: program(c.Project), Hub: strings.TrimSuffix(c.URL, "/"), Agent: string(c.Agent),
		HTTP: c.HTTP, Seat: c.Seat, History: c.History,
	}
	switch {
	case c.History:
	case c.Token != "" && c.Project:
		return w, usageError{fmt.Errorf("a project's file is for others too, and no place for a token: leave --token out, and put it into %s", c.TokenVar)}
	case c.Token != "":
		w.Token.Literal = string(c.Token)
	case c.EnvFile != "" && !c.HTTP:
		path, err := filepath.Abs(c.EnvFile)
		if err != nil {
			return w, fmt.Errorf("find %s: %w", c.EnvFile, err)
		}
		w.Token.File = path
	default:
		w.Token.Variable = c.TokenVar
	}
	return w, nil
}

// program is how clients start aldis. Those that were not started by a shell do
// not find it by its name alone; in a project's file a path would be nobody
// else's.
func program(project bool) string {
	if project {
		return "aldis"
	}
	self, err := os.Executable()
	if err != nil {
		return "aldis"
	}
	found, err := exec.LookPath("aldis") // may be a link that outlives an upgrade
	if err == nil && sameFile(found, self) && filepath.IsAbs(found) {
		return found
	}
	return self
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, errB := os.Stat(b)
	return err == nil && errB == nil && os.SameFile(x, y)
}

// print writes the lines to standard output, and what else is to be said to
// standard error, so that a pipe has the lines alone.
func (c *installCmd) print(e env, client *install.Client, server install.Server, path string, w install.Wish) error {
	if path == "" {
		fmt.Fprintln(e.stderr, "Put this into the client's file:")
	} else {
		fmt.Fprintf(e.stderr, "Put this into %s, or have --write do it:\n", path)
	}
	if _, err := fmt.Fprint(e.stdout, client.Lines(server)); err != nil {
		return err
	}
	c.advise(e, client, w)
	return nil
}

// advise says what is left to do.
func (c *installCmd) advise(e env, client *install.Client, w install.Wish) {
	if w.Token.Variable != "" {
		fmt.Fprintf(e.stderr, "Set %s to the hub's token where %s is started; aldis token add makes one for an agent alone.\n", w.Token.Variable, client.Title)
	}
	if w.Agent == "" && !w.History {
		fmt.Fprintln(e.stderr, "No --agent was given: the token must be one that aldis token add has made, or nobody can write to this agent.")
	}
	if w.History {
		fmt.Fprintln(e.stderr, "The client's model can read all that Signal Desktop has; docs/history.md tells how to bound it.")
	}
	fmt.Fprintln(e.stderr, client.Start(c.Name, w.History))
}

// makeChange edits a file and says so. A private one holds a token.
func makeChange(e env, change *install.Change, private bool) error {
	if !change.Needed() {
		_, err := fmt.Fprintf(e.stdout, "Nothing to change in %s.\n", change.Path)
		return err
	}
	backup, err := change.Write(private, time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "Changed %s.\n", change.Path)
	if backup != "" {
		fmt.Fprintf(e.stdout, "As it was: %s\n", backup)
	}
	if private {
		fmt.Fprintf(e.stderr, "The token lies in %s, readable by you alone; keep it out of backups and repositories.\n", change.Path)
		if runtime.GOOS == "windows" {
			fmt.Fprintln(e.stderr, "Windows does not know that: look at who may read the file.")
		}
	}
	return nil
}

// uninstallCmd is aldis uninstall.
type uninstallCmd struct{ clientFile }

// Help shows examples. Kong calls it.
func (*uninstallCmd) Help() string {
	return `Examples:
  aldis uninstall claude-code
  aldis uninstall cursor --history --project`
}

func (c *uninstallCmd) Run(e env) error {
	client, path, err := c.find(e)
	if err != nil {
		return err
	}
	if path == "" {
		return usageError{fmt.Errorf("no file of %s is known: name it by --file", client.Title)}
	}
	change, err := client.Cut(path, c.Name)
	if err != nil {
		return err
	}
	return makeChange(e, change, false)
}
