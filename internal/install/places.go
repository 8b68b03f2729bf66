package install

import (
	"os"
	"path/filepath"
	"runtime"
)

// A World is where clients' files are looked for.
type World struct {
	GOOS    string // as runtime.GOOS
	Home    string // the user's folder
	Dir     string // the project: the working folder
	Getenv  func(string) string
	Managed string // folder of Claude Code's managed policy; "": where the system has it
}

// Here is the World of this process.
func Here(getenv func(string) string) (World, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return World{}, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return World{}, err
	}
	return World{GOOS: runtime.GOOS, Home: home, Dir: dir, Getenv: getenv}, nil
}

// A Scope says who gets the servers of a file.
type Scope string

// The scopes. A file of scope local is the user's, its entry is for one project.
const (
	User    Scope = "user"
	Project Scope = "project"
	Local   Scope = "local"
	Managed Scope = "managed"
)

// A place is where a client may have a file.
type place struct {
	path  string
	scope Scope
}

// Path returns the file that a client has for a scope, User or Project: of
// several that it reads the one that is there, else the one to be made; "" if it
// has none.
func (c *Client) Path(w World, scope Scope) string {
	first := ""
	for _, p := range c.places(w) {
		if p.scope != scope {
			continue
		}
		if _, err := os.Stat(p.path); err == nil {
			return p.path
		}
		if first == "" {
			first = p.path
		}
	}
	return first
}

// env returns a variable, or a folder's name joined to the user's.
func (w World) env(name string, otherwise ...string) string {
	if v := w.Getenv(name); v != "" {
		return v
	}
	return filepath.Join(append([]string{w.Home}, otherwise...)...)
}

// xdg is where programs of all systems that follow Linux' ways keep settings.
func (w World) xdg() string { return w.env("XDG_CONFIG_HOME", ".config") }

// support is where a system's own applications keep settings.
func (w World) support() string {
	switch w.GOOS {
	case "windows":
		return w.env("APPDATA", "AppData", "Roaming")
	case "darwin":
		return filepath.Join(w.Home, "Library", "Application Support")
	default:
		return w.xdg()
	}
}

func claudeCodePlaces(w World) []place {
	return []place{
		{filepath.Join(w.env("CLAUDE_CONFIG_DIR"), ".claude.json"), User},
		{filepath.Join(w.Dir, ".mcp.json"), Project},
		{filepath.Join(w.managed(), "managed-mcp.json"), Managed},
	}
}

// managed is the folder of Claude Code's policy, which a user cannot overrule.
func (w World) managed() string {
	switch {
	case w.Managed != "":
		return w.Managed
	case w.GOOS == "windows":
		return `C:\Program Files\ClaudeCode`
	case w.GOOS == "darwin":
		return "/Library/Application Support/ClaudeCode"
	default:
		return "/etc/claude-code"
	}
}

func claudeDesktopPlaces(w World) []place {
	return []place{{filepath.Join(w.support(), "Claude", "claude_desktop_config.json"), User}}
}

func crushPlaces(w World) []place {
	dir := filepath.Join(w.xdg(), "crush")
	if w.GOOS == "windows" {
		dir = filepath.Join(w.env("LOCALAPPDATA", "AppData", "Local"), "crush")
	}
	if v := w.Getenv("CRUSH_GLOBAL_CONFIG"); v != "" {
		dir = v
	}
	return []place{
		{filepath.Join(dir, "crush.json"), User},
		{filepath.Join(w.Dir, "crush.json"), Project},
		{filepath.Join(w.Dir, ".crush.json"), Project},
	}
}

func opencodePlaces(w World) (list []place) {
	for _, name := range []string{"opencode.json", "opencode.jsonc"} {
		list = append(list, place{filepath.Join(w.xdg(), "opencode", name), User}, place{filepath.Join(w.Dir, name), Project})
	}
	return list
}

func codexPlaces(w World) []place {
	return []place{
		{filepath.Join(w.env("CODEX_HOME", ".codex"), "config.toml"), User},
		{filepath.Join(w.Dir, ".codex", "config.toml"), Project},
	}
}

func cursorPlaces(w World) []place {
	return []place{
		{filepath.Join(w.Home, ".cursor", "mcp.json"), User},
		{filepath.Join(w.Dir, ".cursor", "mcp.json"), Project},
	}
}

func vscodePlaces(w World) []place {
	return []place{
		{filepath.Join(w.support(), "Code", "User", "mcp.json"), User},
		{filepath.Join(w.Dir, ".vscode", "mcp.json"), Project},
	}
}
