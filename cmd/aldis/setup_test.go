package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"aldis/internal/config"
	"aldis/internal/hubtest"
	"aldis/internal/setup"
)

const (
	ownNumber = "+15555550100"
	hubNumber = "+15555550199"
)

// A newcomer is somebody who sets Aldis up: a home with nothing in it, and a
// signal-cli daemon with no account.
type newcomer struct {
	t          *testing.T
	home       string
	runtimeDir string // "": no systemd runs
	daemon     *hubtest.Daemon
}

func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	n := &newcomer{t: t, home: t.TempDir(), daemon: hubtest.NewDaemon(t)}
	n.daemon.Accounts = nil
	t.Setenv("HOME", n.home)
	t.Setenv("USERPROFILE", n.home)
	t.Setenv("PATH", t.TempDir()) // no client, no signal-cli, no systemd
	return n
}

func (n *newcomer) getenv(name string) string {
	switch name {
	case "HOME", "USERPROFILE":
		return n.home
	case "XDG_RUNTIME_DIR":
		return n.runtimeDir
	}
	return ""
}

func (n *newcomer) file() string {
	path, err := config.EnvFilePath(n.getenv)
	if err != nil {
		n.t.Fatal(err)
	}
	return path
}

// says returns what the env file says.
func (n *newcomer) says() map[string]string {
	b, err := os.ReadFile(n.file())
	if err != nil {
		n.t.Fatal(err)
	}
	return config.EnvFile(string(b))
}

func (n *newcomer) write(text string, mode fs.FileMode) {
	n.t.Helper()
	if err := os.MkdirAll(filepath.Dir(n.file()), 0o700); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(n.file(), []byte(text), mode); err != nil {
		n.t.Fatal(err)
	}
}

// setup runs aldis setup. A person types the lines; without any, flags answer.
func (n *newcomer) setup(c setupCmd, lines ...string) (printed string, err error) {
	n.t.Helper()
	if c.SignalCLI.Addr == "" {
		if err := c.SignalCLI.UnmarshalText([]byte(n.daemon.Address())); err != nil {
			n.t.Fatal(err)
		}
	}
	var out bytes.Buffer
	var asker setup.Asker = setup.Script{Out: &out}
	if c.Yes = len(lines) == 0; !c.Yes {
		asker = setup.NewPerson(strings.NewReader(strings.Join(lines, "\n")+"\n"), &out)
	}
	g, err := newGuide(&c, env{strings.NewReader(""), &out, &out, n.getenv}, asker)
	if err == nil {
		err = g.lead(n.t.Context())
	}
	return out.String(), err
}

func wantSaid(t *testing.T, printed string, words ...string) {
	t.Helper()
	for _, want := range words {
		if !strings.Contains(printed, want) {
			t.Errorf("it does not say %q:\n%s", want, printed)
		}
	}
}

func TestSetupFromNothing(t *testing.T) {
	n := newNewcomer(t)
	printed, err := n.setup(setupCmd{}, "") // the number that is offered
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	uri := n.daemon.Requests("finishLink")[0].Params["deviceLinkUri"].(string)
	wantSaid(t, printed, uri, "▄", "good for 100 seconds", "Linked to "+ownNumber, "["+ownNumber+"] >", "Note to Self", "Next: aldis serve --env-file "+n.file())
	said := n.says()
	if said["ALDIS_OPERATOR"] != ownNumber || said["ALDIS_SIGNAL_CLI"] != n.daemon.Address() || len(said) != 3 {
		t.Errorf("the file says %v", said)
	}
	if token := said["ALDIS_AUTH_TOKEN"]; len(token) < 32 || strings.Contains(printed, token) {
		t.Errorf("token %q", token)
	}
	n.wantPrivate()
}

// wantPrivate looks at the file and the state folder.
func (n *newcomer) wantPrivate() {
	n.t.Helper()
	if runtime.GOOS == "windows" {
		return
	}
	for path, want := range map[string]fs.FileMode{n.file(): 0o600, filepath.Join(n.home, ".local/state/aldis"): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			n.t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}

func TestSetupAgainChangesNothing(t *testing.T) {
	n := newNewcomer(t)
	if printed, err := n.setup(setupCmd{}, ""); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	before, connections := n.says(), n.daemon.Accepted()
	info, _ := os.Stat(n.file())
	for _, lines := range [][]string{{"never asked"}, nil} {
		printed, err := n.setup(setupCmd{}, lines...)
		if err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		if strings.Contains(printed, " > ") {
			t.Errorf("it asked:\n%s", printed)
		}
		if now, _ := os.Stat(n.file()); !now.ModTime().Equal(info.ModTime()) || !os.SameFile(now, info) {
			t.Errorf("the file was written again: %v, before %v", n.says(), before)
		}
	}
	if n := n.daemon.Accepted() - connections; n != 0 {
		t.Errorf("the daemon got %d connections, which may have cost the hub messages", n)
	}
}

func TestSetupAsksBeforeItReplaces(t *testing.T) {
	const file = "# mine\nSIGNAL_MCP_OPERATOR=" + hubNumber + "\nALDIS_AUTH_TOKEN=kept\nALDIS_PREFIX=bot\n"
	for _, tt := range []struct {
		name  string
		lines []string // none: --yes
		want  string   // operator
	}{
		{"no", []string{"no", "no"}, hubNumber},
		{"yes", []string{"yes", "no"}, ownNumber},
		{"a script that names it", nil, ownNumber},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := newNewcomer(t)
			n.write(file, 0o600)
			printed, err := n.setup(setupCmd{Operator: ownNumber, Account: hubNumber}, tt.lines...)
			if err != nil {
				t.Fatalf("%v\n%s", err, printed)
			}
			wantSaid(t, printed, "says ALDIS_OPERATOR="+hubNumber+". Make it "+ownNumber+"?")
			g, err := newGuide(&setupCmd{}, env{getenv: n.getenv}, nil)
			if err != nil || g.said("ALDIS_OPERATOR") != tt.want {
				t.Errorf("the operator is %s, %v; want %s", g.said("ALDIS_OPERATOR"), err, tt.want)
			}
			if said := n.says(); said["ALDIS_AUTH_TOKEN"] != "kept" || said["ALDIS_PREFIX"] != "bot" || !strings.HasPrefix(g.text, "# mine\n") {
				t.Errorf("the file says %q", g.text)
			}
		})
	}
}

func TestSetupLinks(t *testing.T) {
	for _, tt := range []struct {
		name     string
		accounts []string
		answers  []hubtest.DaemonAnswer // of finishLink, before it works
		start    *hubtest.DaemonAnswer  // of startLink
		flags    setupCmd
		lines    []string
		account  string // "": none
		says     string
	}{
		{name: "one that is linked already", accounts: []string{hubNumber}, lines: []string{""}, account: hubNumber, says: "signal-cli is linked to " + hubNumber},
		{name: "one of several", accounts: []string{ownNumber, hubNumber}, lines: []string{"2", ""}, account: hubNumber, says: "Which of signal-cli's accounts"},
		{name: "one of several, by a flag", accounts: []string{ownNumber, hubNumber}, flags: setupCmd{Account: hubNumber}, lines: []string{""}, account: hubNumber},
		{name: "another than those", accounts: []string{hubNumber, "+15555550198"}, lines: []string{"3", ""}, account: ownNumber, says: "Linked to"},
		{name: "again, one that is there", accounts: []string{hubNumber}, flags: setupCmd{Link: true}, lines: []string{"1", ""}, account: hubNumber},
		{name: "again, another", accounts: []string{hubNumber}, flags: setupCmd{Link: true}, lines: []string{"", ""}, account: ownNumber, says: "Linked to"},
		{name: "another than is there", accounts: []string{hubNumber}, flags: setupCmd{Account: ownNumber}, lines: []string{"2", ""}, account: ownNumber, says: "is not linked to " + ownNumber},
		{
			name: "a second code", lines: []string{"", ""}, account: ownNumber, says: "not scanned in time",
			answers: []hubtest.DaemonAnswer{{Error: hubtest.DaemonError(-1, "Link request timed out, please try again.", nil)}},
		},
		{
			name: "refused", lines: []string{"no", ownNumber}, says: "Not linked: signal-cli can't reach Signal, try again later: Link request error: [411]",
			answers: []hubtest.DaemonAnswer{{Error: hubtest.DaemonError(-3, "Link request error: [411] Bad response: 411", nil)}},
		},
		{
			name: "no network", lines: []string{"no", ownNumber}, says: "can't reach Signal",
			start: &hubtest.DaemonAnswer{Error: hubtest.DaemonError(-3, "Link request error: Connection closed!", nil)},
		},
		{name: "a script cannot scan", flags: setupCmd{Operator: ownNumber}, says: "signal-cli link -n aldis"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := newNewcomer(t)
			n.daemon.Accounts = tt.accounts
			if tt.start != nil {
				n.daemon.Answer("startLink", func(hubtest.DaemonRequest) hubtest.DaemonAnswer { return *tt.start })
			}
			if len(tt.answers) > 0 {
				n.daemon.Answer("finishLink", func(hubtest.DaemonRequest) hubtest.DaemonAnswer {
					n.daemon.Answer("finishLink", nil)
					return tt.answers[0]
				})
			}
			printed, err := n.setup(tt.flags, tt.lines...)
			if (tt.account == "") != errors.Is(err, errLeft) || tt.account != "" && err != nil {
				t.Fatalf("%v\n%s", err, printed)
			}
			wantSaid(t, printed, tt.says)
			want := tt.account
			if want == "" {
				want = ownNumber
			}
			if said := n.says()["ALDIS_OPERATOR"]; said != want {
				t.Errorf("operator %s, want %s", said, want)
			}
		})
	}
}

// An account of its own for the hub takes a line of its own.
func TestSetupForAnotherOperator(t *testing.T) {
	n := newNewcomer(t)
	n.daemon.Accounts = []string{hubNumber}
	printed, err := n.setup(setupCmd{}, "12345", "+1555 call me", "+1 (555) 555-0100")
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	if strings.Count(printed, "want a phone number like +15551234567") != 2 {
		t.Errorf("it took a wrong number:\n%s", printed)
	}
	wantSaid(t, printed, "agents write from the account "+hubNumber)
	if said := n.says(); said["ALDIS_OPERATOR"] != ownNumber || said["ALDIS_ACCOUNT"] != hubNumber {
		t.Errorf("the file says %v", said)
	}
}

func TestSetupWithoutADaemon(t *testing.T) {
	n := newNewcomer(t)
	address := n.daemon.Address()
	n.daemon.Close()
	command := "signal-cli daemon --tcp " + address + " --receive-mode on-connection"

	printed, err := n.setup(setupCmd{}, "1", "2", ownNumber)
	if !errors.Is(err, errLeft) {
		t.Fatalf("%v\n%s", err, printed)
	}
	wantSaid(t, printed, "brew install signal-cli", command, "Nothing listens there yet", "Left to do:\n  - signal-cli is not on this machine")
	if n.says()["ALDIS_OPERATOR"] != ownNumber {
		t.Error("what can be done without it was not done")
	}
	printed, err = n.setup(setupCmd{})
	if !errors.Is(err, errLeft) {
		t.Errorf("again: %v", err)
	}
	wantSaid(t, printed, command)
}

// What listens is not always a daemon that will do.
func TestSetupJudgesTheDaemon(t *testing.T) {
	n := newNewcomer(t)
	n.daemon.Version, n.daemon.Accounts = "0.13.20", []string{ownNumber}
	printed, err := n.setup(setupCmd{}, "")
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	wantSaid(t, printed, "0.13.20 has faults by which messages are not received")

	n = newNewcomer(t)
	n.daemon.Answer("version", func(hubtest.DaemonRequest) hubtest.DaemonAnswer { return hubtest.DaemonAnswer{Cut: true} })
	printed, err = n.setup(setupCmd{Operator: ownNumber})
	if !errors.Is(err, errLeft) {
		t.Fatalf("%v\n%s", err, printed)
	}
	wantSaid(t, printed, "does not answer as a signal-cli daemon does")

	n = newNewcomer(t)
	for _, method := range []string{"listAccounts", "startLink"} {
		n.daemon.Answer(method, func(hubtest.DaemonRequest) hubtest.DaemonAnswer {
			return hubtest.DaemonAnswer{Error: hubtest.DaemonError(-32601, "Method not implemented", nil)}
		})
	}
	printed, err = n.setup(setupCmd{}, ownNumber)
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	wantSaid(t, printed, "started for one account (-a)")
}

// Somebody who leaves finds all as it was, and is told how to go on.
func TestSetupIsLeft(t *testing.T) {
	n := newNewcomer(t)
	n.daemon.Accounts = []string{ownNumber, hubNumber}
	printed, err := n.setup(setupCmd{}, "2", "not a number")
	if !errors.Is(err, errHalt) {
		t.Fatalf("%v\n%s", err, printed)
	}
	if _, err := os.Stat(n.file()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was written: %v", err)
	}
}

func TestSetupKeepsSecretsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("who may read a file is not said by modes here")
	}
	n := newNewcomer(t)
	n.write("ALDIS_OPERATOR="+ownNumber+"\nALDIS_SIGNAL_CLI="+n.daemon.Address()+"\nALDIS_AUTH_TOKEN=token-of-mine\n", 0o644)
	if err := os.MkdirAll(filepath.Join(n.home, ".local/state/aldis"), 0o755); err != nil {
		t.Fatal(err)
	}
	printed, err := n.setup(setupCmd{})
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	wantSaid(t, printed, "mode 0644", "mode 0755")
	if strings.Contains(printed, "token-of-mine") {
		t.Errorf("it shows the token:\n%s", printed)
	}
	n.wantPrivate()
}

func TestSetupTellsClients(t *testing.T) {
	n := newNewcomer(t)
	n.daemon.Accounts = []string{ownNumber}
	crush := filepath.Join(n.home, ".config", "crush", "crush.json")
	if runtime.GOOS == "windows" {
		crush = filepath.Join(n.home, "AppData", "Local", "crush", "crush.json")
	}
	if err := os.MkdirAll(filepath.Dir(crush), 0o700); err != nil {
		t.Fatal(err)
	}
	const theirs = "{\n  // mine\n  \"mcp\": {}\n}\n"
	if err := os.WriteFile(crush, []byte(theirs), 0o600); err != nil {
		t.Fatal(err)
	}
	printed, err := n.setup(setupCmd{}, "", "crush-signal", "no")
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	wantSaid(t, printed, "$ aldis install crush --agent crush-signal --env-file "+n.file(), `"attach"`)
	if b, _ := os.ReadFile(crush); string(b) != theirs {
		t.Errorf("the client's file was changed: %s", b)
	}
	printed, err = n.setup(setupCmd{Client: []clientWish{{"crush", "crush-signal"}}, Write: true})
	if b, _ := os.ReadFile(crush); err != nil || !strings.Contains(string(b), "crush-signal") {
		t.Fatalf("%v\n%s\n%s", err, printed, b)
	}
	printed, err = n.setup(setupCmd{}, "never asked")
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	wantSaid(t, printed, "Crush knows the hub: "+crush)
}

func TestSetupFlags(t *testing.T) {
	home := t.TempDir()
	for _, tt := range []struct {
		name string
		args []string
		says string
	}{
		{"no terminal", nil, "this is no terminal"},
		{"a wrong number", []string{"--yes", "--operator", "5551234567"}, "want a phone number like +15551234567"},
		{"a wrong address", []string{"--yes", "--signal-cli", "7583"}, "want host:port or unix:/path"},
		{"no such client", []string{"--yes", "--client", "emacs"}, `no client "emacs" is known`},
		{"no name", []string{"--yes", "--client", "crush="}, "want CLIENT=AGENT"},
		{"nobody to answer", []string{"--yes", "--signal-cli", "127.0.0.1:1"}, "give --operator"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, said bytes.Buffer
			getenv := func(name string) string { return map[string]string{"HOME": home, "USERPROFILE": home}[name] }
			code := run(t.Context(), append([]string{"setup"}, tt.args...), env{strings.NewReader(""), &out, &said, getenv})
			if code != exitUsage || !strings.Contains(said.String(), tt.says) {
				t.Errorf("exit %d, %q; want %q", code, said.String(), tt.says)
			}
		})
	}
	if left, _ := os.ReadDir(home); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// A systemd that notes what it is told.
func (n *newcomer) systemd() (log string) {
	n.t.Helper()
	if runtime.GOOS == "windows" {
		n.t.Skip("there is no systemd")
	}
	dir := n.t.TempDir()
	log = filepath.Join(dir, "log")
	bin := filepath.Join(dir, "systemctl")
	script := "#!/bin/sh\necho \"$@\" >>" + log + "\ncase \"$2\" in is-active) grep -q enable " + log + ";; esac\n"
	if err := os.WriteFile(bin, []byte(script), 0o700); err != nil {
		n.t.Fatal(err)
	}
	n.t.Setenv("PATH", dir+":/usr/bin:/bin")
	n.runtimeDir = dir
	if err := os.MkdirAll(filepath.Join(dir, "systemd", "private"), 0o700); err != nil {
		n.t.Fatal(err)
	}
	return log
}

func TestSetupOffersAService(t *testing.T) {
	n := newNewcomer(t)
	log := n.systemd()
	n.daemon.Accounts = []string{ownNumber}
	unit := filepath.Join(n.home, ".config", "systemd", "user", "aldis.service")
	told := func() string {
		b, _ := os.ReadFile(log)
		return string(b)
	}

	printed, err := n.setup(setupCmd{}, "", "no")
	if _, missing := os.Stat(unit); err != nil || missing == nil || told() != "" {
		t.Fatalf("not agreed: %v, %q\n%s", err, told(), printed)
	}
	printed, err = n.setup(setupCmd{}, "yes", "no")
	b, _ := os.ReadFile(unit)
	if err != nil || told() != "" {
		t.Fatalf("not to be run: %v, %q\n%s", err, told(), printed)
	}
	wantSaid(t, string(b), "serve --env-file "+n.file()+" --routes-file", "Type=notify")
	wantSaid(t, printed, "systemctl --user enable --now aldis.service")

	printed, err = n.setup(setupCmd{Service: true})
	if err != nil || !strings.HasSuffix(told(), "--user daemon-reload\n--user enable --now aldis.service\n") {
		t.Fatalf("agreed: %v, %q\n%s", err, told(), printed)
	}
	wantSaid(t, printed, "Next: aldis status")
	before := told()
	printed, err = n.setup(setupCmd{}, "never asked")
	if err != nil || told() != before+"--user is-active --quiet aldis.service\n" {
		t.Fatalf("again: %v, %q\n%s", err, told(), printed)
	}

	if err := os.WriteFile(unit, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if printed, err = n.setup(setupCmd{}, ""); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	wantSaid(t, printed, "says something else. Replace it?")
	if b, _ := os.ReadFile(unit); string(b) != "mine" {
		t.Errorf("it was replaced by %q", b)
	}
}

func TestSetupSaysWhatSystemdRefuses(t *testing.T) {
	n := newNewcomer(t)
	n.systemd()
	n.daemon.Accounts = []string{ownNumber}
	if err := os.WriteFile(filepath.Join(n.runtimeDir, "systemctl"), []byte("#!/bin/sh\necho no bus >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	printed, err := n.setup(setupCmd{Operator: ownNumber, Service: true})
	if !errors.Is(err, errLeft) {
		t.Fatalf("%v\n%s", err, printed)
	}
	wantSaid(t, printed, "systemd does not run the hub", "no bus")
}

func TestWordsAreQuoted(t *testing.T) {
	for _, tt := range []struct{ word, shell, unit string }{
		{"/usr/bin/aldis", "/usr/bin/aldis", "/usr/bin/aldis"},
		{"/my home/a", "'/my home/a'", `"/my home/a"`},
		{"it's", `'it'\''s'`, `"it's"`},
		{"50%$x", "'50%$x'", "50%%$$x"},
		{`a"b\`, `'a"b\'`, `"a\"b\\"`},
		{"", "''", ""},
	} {
		if got := shellWord(tt.word); got != tt.shell {
			t.Errorf("shell: %s, want %s", got, tt.shell)
		}
		if got := unitWord(tt.word); got != tt.unit {
			t.Errorf("unit: %s, want %s", got, tt.unit)
		}
	}
}
