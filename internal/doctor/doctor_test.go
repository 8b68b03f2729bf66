package doctor

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// good are the facts of a set-up in which nothing is wrong.
func good() Facts {
	return Facts{
		Version: "v1", Built: now.Add(-time.Hour), Now: now,
		Settings: Settings{
			EnvFile: "/etc/aldis.env", EnvMode: 0o600, Operator: true, Token: true, DefaultAgent: "bot",
			Names: []string{"ALDIS_OPERATOR", "HOME", "SIGNAL_MCP_NAME"}, Known: []string{"ALDIS_OPERATOR", "ALDIS_AUTH_TOKEN"},
		},
		Hub:    Hub{URL: "http://127.0.0.1:8765", Presence: Ours, Version: "v1", Shared: Accepted, Admin: Accepted},
		Folder: Folder{Path: "/state", Mode: 0o700, Free: 1 << 40, Record: "/state/aldis.db", Newest: now.Add(-time.Second)},
		Access: Access{Policy: "allowlist"},
		Daemon: Daemon{
			Address: "127.0.0.1:7583", Local: true, Joined: true, Version: "0.14.6", Accounts: 1, Last: now.Add(-time.Minute),
			Process: true, Mode: "on-connection", Java: "25.0.1",
		},
		Sessions: []Session{{ID: "abc", Agent: "bot", State: "live", Client: claudeCode}, {ID: "old", Agent: "x", State: "gone"}, {ID: "ide", Agent: "ide", State: "pull", Client: "cursor"}},
		Clients: []Client{
			{ID: claudeCode, Where: "~/.claude.json, line 3", Name: "aldis", URL: "http://127.0.0.1:8765", Here: true, Agent: "bot", Token: Accepted, Literal: true},
			{ID: claudeCode, Where: "~/.claude.json, line 9", Name: "signal-history", Verb: "history", Here: true},
		},
		History: History{Wanted: true, Folder: "/signal"},
		Canary:  &Canary{Agent: "bot", Gate: Acknowledged},
	}
}

// worst returns the results that are as bad as the whole.
func worst(r Result) (list []Result) {
	var walk func(Result)
	walk = func(p Result) {
		if len(p.Parts) == 0 && p.State == r.State {
			list = append(list, p)
		}
		for _, x := range p.Parts {
			walk(x)
		}
	}
	walk(r)
	return list
}

func TestAGoodSetUpIsNotFoundFaultWith(t *testing.T) {
	if r := Examine(good()); r.State != OK {
		t.Errorf("%s: %+v", r.State, worst(r))
	}
	absent := Facts{Now: now, Version: "v1", Settings: Settings{Token: true}, Hub: Hub{Presence: Nobody, URL: "http://h"}, Folder: Folder{Path: "/state", Missing: true}}
	if r := Examine(absent); r.State != Warn || len(worst(r)) != 1 || worst(r)[0].Mend != "aldis serve" {
		t.Errorf("before the first start: %s: %+v", r.State, worst(r))
	}
}

func TestABrokenSetUpIsNamedWithItsMend(t *testing.T) {
	off := func(f *Facts, p Presence) { f.Hub = Hub{URL: f.Hub.URL, Presence: p}; f.Sessions = nil; f.Canary = nil }
	for _, tt := range []struct {
		name  string
		broke func(*Facts)
		state State
		says  string // the cause
		mend  string
	}{
		{"env file that everybody reads", func(f *Facts) { f.Settings.EnvMode = 0o644 }, Fail, "mode 0644", "chmod 600 /etc/aldis.env"},
		{"env file that the group may change", func(f *Facts) { f.Settings.EnvMode = 0o660 }, Warn, "may change it", "chmod g-w"},
		{"misspelled variable", func(f *Facts) { f.Settings.Names = []string{"ALDIS_OPERATER"} }, Warn, "ALDIS_OPERATER", "write ALDIS_OPERATOR"},
		{"variable like no other", func(f *Facts) { f.Settings.Names = []string{"ALDIS_COLOUR_OF_THE_BIKESHED"} }, Warn, "BIKESHED", "take it out"},
		{"line that is none", func(f *Facts) { f.Settings.Skipped = []int{7} }, Warn, "line 7", "KEY=VALUE"},
		{"settings that contradict", func(f *Facts) { off(f, Nobody); f.Settings.Wrong = []string{"--port: want a port"} }, Fail, "want a port", "env file"},
		{"settings other than the hub's", func(f *Facts) { f.Settings.Wrong = []string{"needs a token"} }, Warn, "started with others", "--env-file"},

		{"hub that does not run", func(f *Facts) { off(f, Nobody) }, Warn, "is free", "aldis serve"},
		{"hub at another port", func(f *Facts) { off(f, Nobody); f.Hub.Elsewhere = "http://127.0.0.1:9" }, Fail, "http://127.0.0.1:9", "--hub http://127.0.0.1:9"},
		{"port of another program", func(f *Facts) { off(f, Foreign); f.Hub.Why = "it answers 404 Not Found" }, Fail, "another program", "--port"},
		{"hub out of reach", func(f *Facts) { off(f, Silent); f.Hub.Why = "no answer" }, Fail, "no answer", "--hub"},
		{"name that the hub does not go by", func(f *Facts) { off(f, Refusing); f.Hub.URL = "https://hub.example/x" }, Fail, "does not answer to that name", "--allowed-host hub.example"},
		{"another version", func(f *Facts) { f.Hub.Version = "v0" }, Warn, "v0", "start the hub again"},
		{"hub that takes nothing", func(f *Facts) { f.Hub.NotReady = "the record cannot be written" }, Fail, "the record cannot be written", "aldis status"},
		{"wrong shared token", func(f *Facts) { f.Hub.Shared = Unknown }, Fail, "started with another", "ALDIS_AUTH_TOKEN"},
		{"no shared token", func(f *Facts) { f.Hub.Shared = NoToken }, Warn, "none is set here", "ALDIS_AUTH_TOKEN"},
		{"wrong admin token", func(f *Facts) { f.Hub.Admin = Unknown }, Fail, "does not take", "--state-dir"},
		{"admin token out of reach", func(f *Facts) { f.Hub.Admin = NoToken; f.Hub.AdminFile = "permission denied" }, Fail, "permission denied", "--state-dir"},

		{"state that others read", func(f *Facts) { f.Folder.Mode = 0o755; f.Folder.Open = []string{"/state/admin.token", "/a b"} }, Fail, "admin.token", "chmod go= /state /state/admin.token '/a b'"},
		{"folder that is open", func(f *Facts) { f.Folder.Mode = 0o750 }, Warn, "mode 0750", "chmod go= /state"},
		{"somebody else's folder", func(f *Facts) { f.Folder.Owner = "aldis" }, Fail, "belongs to aldis", "as aldis"},
		{"folder that cannot be written", func(f *Facts) { f.Folder.Unusable = "read-only file system" }, Fail, "read-only file system", "--state-dir"},
		{"folder that cannot be looked at", func(f *Facts) { f.Folder.Why = "permission denied" }, Fail, "permission denied", "--state-dir"},
		{"full disk", func(f *Facts) { f.Folder.Free = 1 << 20 }, Fail, "1 MiB", "--retain"},
		{"disk that fills", func(f *Facts) { f.Folder.Free = 100 << 20 }, Warn, "100 MiB", "--retain"},
		{"foreign record", func(f *Facts) { f.Folder.NoRecord = "/x is not a record of this program" }, Fail, "not a record", "--db"},
		{"record that cannot be written", func(f *Facts) { f.Folder.ReadOnly = "permission denied" }, Fail, "permission denied", "--db"},

		{"clock before this program", func(f *Facts) { f.Built = now.Add(time.Hour) }, Fail, "is from later", "NTP"},
		{"clock that was set back", func(f *Facts) { f.Folder.Newest = now.Add(time.Hour) }, Fail, "set back", "NTP"},
		{"clock unlike the hub's", func(f *Facts) { f.Hub.Skew = -time.Minute }, Warn, "-1m0s", "NTP"},

		{"broken access.json", func(f *Facts) { f.Access = Access{Trouble: "line 3: unknown field"} }, Fail, "line 3", "mend the file"},
		{"policy that shuts all out", func(f *Facts) { f.Access.Policy = "disabled" }, Warn, "disabled", "aldis access policy allowlist"},
		{"moved number", func(f *Facts) { f.Access.Moved = []string{"…02"} }, Warn, "…02", "aldis access rebind"},

		{"no daemon", func(f *Facts) { f.Daemon = Daemon{Address: "127.0.0.1:7583", Fault: Refused} }, Fail, "nobody listens at 127.0.0.1:7583", "daemon --tcp 127.0.0.1:7583 --receive-mode on-connection"},
		{"no socket", func(f *Facts) { f.Daemon = Daemon{Address: "unix:/run/s", Fault: NoSocket} }, Fail, "no socket at unix:/run/s", "daemon --socket /run/s"},
		{"socket of another user", func(f *Facts) { f.Daemon = Daemon{Address: "unix:/run/s", Fault: NoRight} }, Fail, "may not be used", "one user"},
		{"daemon that speaks HTTP", func(f *Facts) { f.Daemon = Daemon{Fault: HTTP} }, Fail, "speaks HTTP", "--tcp"},
		{"no daemon but something else", func(f *Facts) { f.Daemon = Daemon{Fault: NoDaemon, Why: "it does not speak JSON-RPC"} }, Fail, "no signal-cli daemon", "--signal-cli"},
		{"daemon that hangs", func(f *Facts) { f.Daemon = Daemon{Fault: NoAnswer} }, Fail, "does not answer", "start signal-cli again"},
		{"daemon out of reach", func(f *Facts) { f.Daemon = Daemon{Fault: NoRoute, Why: "no such host"} }, Fail, "no such host", "--signal-cli"},
		{"hub that is not joined", func(f *Facts) { f.Daemon = Daemon{Fault: HubOffline, Why: "version: timeout"} }, Fail, "not joined", "signal-cli"},
		{"daemon before our time", func(f *Facts) { f.Daemon.Version = "0.13.4" }, Fail, "older than 0.13.19", "update signal-cli"},
		{"daemon of a bad version", func(f *Facts) { f.Daemon.Version = "0.13.20" }, Fail, "not received", "update signal-cli"},
		{"daemon that loses quotes", func(f *Facts) { f.Daemon.Version = "0.13.24" }, Warn, "quotes", "update signal-cli"},
		{"daemon before June 2026", func(f *Facts) { f.Daemon.Version = "0.14.4-SNAPSHOT" }, Warn, "June 2026", "update signal-cli"},
		{"no account", func(f *Facts) { f.Daemon.Accounts, f.Daemon.Missing = 0, true }, Fail, "no account", "signal-cli link"},
		{"account that is not there", func(f *Facts) { f.Daemon.Accounts, f.Daemon.Missing = 2, true }, Fail, "none of the 2", "--account"},
		{"mode that loses", func(f *Facts) { f.Daemon.Mode = "on-start" }, Warn, "is lost", "--receive-mode on-connection"},
		{"mode that tells nothing", func(f *Facts) { f.Daemon.Mode = "manual" }, Fail, "no message", "--receive-mode on-connection"},
		{"captcha", func(f *Facts) { f.Daemon.Paused = true }, Fail, "paused", "aldis status"},
		{"silence", func(f *Facts) { f.Daemon.Last = now.AddDate(0, 0, -9) }, Warn, "9 days", "write to yourself"},
		{"lines that cannot be read", func(f *Facts) { f.Daemon.Skipped = 4 }, Warn, "4 lines", "debug"},

		{"nobody here", func(f *Facts) { f.Settings.DefaultAgent = ""; f.Sessions = nil }, Warn, "no agent is here", "aldis install"},
		{"default agent away", func(f *Facts) { f.Settings.DefaultAgent = "else" }, Warn, "else is not here", "--default-agent"},
		{"deaf Claude Code", func(f *Facts) { f.Sessions[0].State = "deaf" }, Fail, "stream has ended", "/mcp"},
		{"deaf Crush", func(f *Facts) { f.Sessions[0].State, f.Sessions[0].Client = "deaf", crush }, Fail, "stream has ended", "Crush"},
		{"deaf client of another kind", func(f *Facts) { f.Sessions[0].State, f.Sessions[0].Client = "deaf", "x" }, Fail, "stream has ended", "inbox"},
		{"Claude Code that never listened", func(f *Facts) { f.Sessions[0].State = "pull" }, Fail, "never opened", "/mcp"},
		{"session on its way", func(f *Facts) { f.Sessions[0].State = "away" }, Warn, "a moment ago", "wait"},
		{"evicted session", func(f *Facts) { f.Sessions[0].Evicted = true }, Warn, "took its label", "label of its own"},
		{"session without a name", func(f *Facts) { f.Settings.DefaultAgent, f.Sessions[0].Agent = "", "" }, Warn, "without a name", "X-Signal-Agent-Id"},

		{"client's file that is broken", func(f *Facts) { f.BadFiles = []BadFile{{crush, "/x: line 2, column 1: no"}} }, Fail, "line 2", "mend the file"},
		{"client without the header", func(f *Facts) { f.Clients[0].Agent = "" }, Fail, "no X-Signal-Agent-Id", "aldis install claude-code --write"},
		{"client's literal token that does not match", func(f *Facts) { f.Clients[0].Token = Unknown }, Fail, "the token in ~/.claude.json", "aldis token add bot"},
		{"client's variable that does not match", func(f *Facts) { f.Clients[0].Token, f.Clients[0].Literal = Unknown, false }, Fail, "leads to", "aldis token add bot"},
		{"client with another agent's token", func(f *Facts) { f.Clients[0].Token = WrongKind }, Fail, "not for bot", "aldis token add bot"},
		{"client without a token", func(f *Facts) { f.Clients[0].Token = NoToken }, Fail, "has no token", "--write"},
		{"client at another hub", func(f *Facts) { f.Clients[0].Here = false; f.Clients[0].URL = "http://127.0.0.1:1" }, Fail, "leads to http://127.0.0.1:1", "--write"},
		{"client's variable that is not set", func(f *Facts) { f.Clients[0].Unset = "TOKEN" }, Warn, "variable TOKEN", "TOKEN is set"},
		{"client that starts nothing", func(f *Facts) { f.Clients[0].Absent = "/gone/aldis" }, Fail, "/gone/aldis", "--write"},
		{"a channel beside the hub", func(f *Facts) { f.Clients[0].Verb = "channel" }, Warn, "hear everything", "aldis install"},
		{"channels off by a variable", func(f *Facts) {
			f.Switches = []Switch{{Name: "DISABLE_TELEMETRY", Value: "1", Where: "the environment", Means: "channels are off"}}
		}, Fail, "DISABLE_TELEMETRY", "unset DISABLE_TELEMETRY"},
		{"channels off by a file", func(f *Facts) {
			f.Switches = []Switch{{Name: "DISABLE_TELEMETRY", Value: "1", Where: "/h/settings.json", Means: "channels are off"}}
		}, Fail, "/h/settings.json", "out of /h/settings.json"},
		{"channels off by policy", func(f *Facts) {
			f.Switches = []Switch{{Name: "channelsEnabled", Value: "false", Where: "/etc/managed-settings.json", Managed: true}}
		}, Fail, "channelsEnabled is false", "manages this machine"},
		{"rules that may forbid it", func(f *Facts) {
			f.Switches = []Switch{{Name: "deniedMcpServers", Value: "2 rules", Where: "/etc/managed-settings.json", Managed: true}}
		}, Warn, "2 rules", "manages this machine"},

		{"history without its key", func(f *Facts) { f.History.Key = "no keyring" }, Fail, "no keyring", "--history-key"},

		{"canary that is refused", func(f *Facts) { f.Canary = &Canary{Gate: NotAccepted, Why: "401"} }, Fail, "401", "shared token"},
		{"canary for nobody", func(f *Facts) { f.Canary = &Canary{Gate: Decided} }, Fail, "no agent of that name", "aldis status"},
		{"canary that waits", func(f *Facts) { f.Canary = &Canary{Gate: Queued} }, Fail, "no stream", "session"},
		{"canary that is lost on the way", func(f *Facts) { f.Canary = &Canary{Gate: Written} }, Fail, "nothing shows that it arrived", "proxies"},
		{"canary that is not read", func(f *Facts) { f.Canary = &Canary{Gate: HandedOver} }, Warn, "has not acknowledged", "--dangerously-load-development-channels"},
		{"canary that ends", func(f *Facts) { f.Canary = &Canary{Gate: Undelivered, Why: "expired"} }, Fail, "expired", "aldis log"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := good()
			tt.broke(&f)
			r := Examine(f)
			list := worst(r)
			if r.State != tt.state {
				t.Fatalf("it is %s, want %s: %+v", r.State, tt.state, list)
			}
			for _, x := range list {
				if strings.Contains(x.Says, tt.says) && strings.Contains(x.Mend, tt.mend) {
					return
				}
			}
			t.Errorf("nothing says %q with the mend %q: %+v", tt.says, tt.mend, list)
		})
	}
}

// Whatever is wrong, what to do about it is said too.
func TestWhatIsWrongHasAMend(t *testing.T) {
	var walk func(Result)
	walk = func(r Result) {
		if bad := r.State == Warn || r.State == Fail; len(r.Parts) == 0 && bad != (r.Mend != "") && r.State != Skipped {
			t.Errorf("%s is %s, and its mend is %q", r.Name, r.State, r.Mend)
		}
		for _, p := range r.Parts {
			walk(p)
		}
	}
	for _, f := range []Facts{good(), {}, {Hub: Hub{Presence: Ours}, Settings: Settings{Operator: true}, Daemon: Daemon{Fault: "new"}}} {
		walk(Examine(f))
	}
}

func TestNothingPrivateIsPrinted(t *testing.T) {
	r := group("x", fail("a", "token\x1b]0;s3cret-token of +15555550100 in /home/me/x", "cat /home/me/x")).Private("/home/me", "s3cret-token", "", "abc")
	var text, object bytes.Buffer
	if err := r.Text(&text, true); err != nil {
		t.Fatal(err)
	}
	if err := r.JSON(&object); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{text.String(), object.String()} {
		for _, secret := range []string{"s3cret", "5555", "/home/me", "\x1b]", "u001b"} {
			if strings.Contains(out, secret) {
				t.Errorf("%q is in %s", secret, out)
			}
		}
		if !strings.Contains(out, "(secret) of …00 in ~/x") {
			t.Errorf("what may be said is gone: %s", out)
		}
	}
}

func TestTextIsForPeopleAndJSONForPrograms(t *testing.T) {
	r := group("all", group("g", ok("a", "fine"), warn("b", "odd", "do it")))
	var b bytes.Buffer
	if err := r.Text(&b, false); err != nil {
		t.Fatal(err)
	}
	want := "warn    g\nok        a: fine\nwarn      b: odd\n          → do it\n\n1 ok, 1 to look at, 0 broken, 0 skipped\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	b.Reset()
	if err := r.JSON(&b); err != nil {
		t.Fatal(err)
	}
	var back Result
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.Parts[0].Parts[1].Mend != "do it" || back.State != Warn {
		t.Errorf("%v: %s", err, b.String())
	}
}

func TestNearestWord(t *testing.T) {
	words := []string{"ALDIS_OPERATOR", "ALDIS_PORT", "ALDIS_HOST"}
	for in, want := range map[string]string{
		"ALDIS_OPERATER": "ALDIS_OPERATOR", "ALDIS_PROT": "ALDIS_PORT", "ALDIS_HOSTS": "ALDIS_HOST", "ALDIS_SOMETHING": "", "": "",
	} {
		if got := nearest(in, words); got != want {
			t.Errorf("%s is like %q, want %q", in, got, want)
		}
	}
}

// What a daemon says of its version is outside input.
func FuzzVersion(f *testing.F) {
	for _, s := range []string{"0.13.19", "0.14.7-SNAPSHOT", "0.13", "-1.2.3", "1.2.99999", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, known := parseVersion(s)
		if known && (v.less(v) || v[0] < 0 || v[1] < 0 || v[2] < 0) {
			t.Errorf("%q is %v", s, v)
		}
		d := Daemon{Version: s}
		if r := d.release(); r.State == OK && v.less(version{0, 14, 5}) {
			t.Errorf("%q is fine", s)
		}
	})
}
