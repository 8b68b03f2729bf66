package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

// commandLine stands for the real one: cmd/aldis embeds the settings so too.
type commandLine struct {
	Serve   struct{ Serve }     `cmd:""`
	Channel struct{ Channel }   `cmd:""`
	Status  struct{ HubAdmin }  `cmd:""`
	Send    struct{ HubSender } `cmd:""`
	Attach  struct{ Attach }    `cmd:""`
	History struct{ History }   `cmd:""`
}

type env map[string]string

// parse reads a command line. A home and a token are there unless e says
// otherwise, because hardly a test is about them.
func parse(t *testing.T, args string, e env, options ...kong.Option) (commandLine, *Loader, error) {
	t.Helper()
	all := env{"HOME": "/home/me", "USERPROFILE": "/home/me", "ALDIS_AUTH_TOKEN": "t"}
	maps.Copy(all, e)
	l := &Loader{Getenv: func(k string) string { return all[k] }}
	var c commandLine
	p, err := kong.New(&c, append(l.Options(), options...)...)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Parse(strings.Fields(args))
	return c, l, err
}

func write(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "aldis.conf")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlagBeatsEnvironmentBeatsFileBeatsDefault(t *testing.T) {
	for _, tt := range []struct {
		name string
		args string
		env  env
		file []string
		want Port
	}{
		{"nothing: the default", "", nil, nil, 8765},
		{"file", "", nil, []string{"ALDIS_PORT=1"}, 1},
		{"environment over file", "", env{"ALDIS_PORT": "2"}, []string{"ALDIS_PORT=1"}, 2},
		{"flag over environment", "--port=3", env{"ALDIS_PORT": "2"}, []string{"ALDIS_PORT=1"}, 3},
		{"flag over file", "--port=3", nil, []string{"ALDIS_PORT=1"}, 3},
		{"older name in the environment over our own in the file", "", env{"SIGNAL_MCP_PORT": "2"}, []string{"ALDIS_PORT=1"}, 2},
		{"our name over older ones", "", env{"ALDIS_PORT": "1", "SIGNAL_MCP_PORT": "2", "AGENT_SALON_PORT": "3"}, nil, 1},
		{"our name over older ones in the file", "", nil, []string{"SIGNAL_MCP_PORT=2", "ALDIS_PORT=1"}, 1},
		{"older name alone", "", env{"AGENT_SALON_PORT": "3"}, nil, 3},
		{"older names that agree", "", env{"SIGNAL_MCP_PORT": "3", "AGENT_SALON_PORT": "3"}, nil, 3},
		{"older names that differ, but a flag decides", "--port=4", env{"SIGNAL_MCP_PORT": "2", "AGENT_SALON_PORT": "3"}, nil, 4},
		{"older names that differ, one a layer below", "", env{"SIGNAL_MCP_PORT": "2"}, []string{"AGENT_SALON_PORT=3"}, 2},
		{"empty is unset", "", env{"ALDIS_PORT": "", "SIGNAL_MCP_PORT": "2"}, nil, 2},
		{"empty is unset, in the file too", "", nil, []string{"ALDIS_PORT=", `SIGNAL_MCP_PORT=""`}, 8765},
		{"default given as a flag", "--port=8765", env{"ALDIS_PORT": "2"}, nil, 8765},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := "serve " + tt.args
			if tt.file != nil {
				args += " --env-file=" + write(t, tt.file...)
			}
			c, _, err := parse(t, args, tt.env)
			if err != nil || c.Serve.Port != tt.want {
				t.Errorf("port %d, %v; want %d", c.Serve.Port, err, tt.want)
			}
		})
	}
}

func TestSettingsOfEveryKindFromTheEnvironment(t *testing.T) {
	c, _, err := parse(t, "serve", env{
		"AGENT_SALON_BIND":               "::1",
		"ALDIS_AUTH_TOKEN":               "new, old",
		"ALDIS_ALLOW_UNAUTHENTICATED":    "yes",
		"AGENT_SALON_ALLOWED_HOSTS":      "box.tail.ts.net, localhost:9000 ,",
		"SIGNAL_MCP_OPERATOR":            "+15551234567",
		"SIGNAL_MCP_TRUSTED_SENDERS":     "+15551234568,0B6C2C1E-9C1B-4B0D-8D0A-000000000001",
		"ALDIS_TRUSTED_RECIPIENTS":       "*,group:YWJjZA==",
		"ALDIS_SIGNAL_CLI":               "unix:/run/signal.sock",
		"AGENT_SALON_ALIASES":            "notes:laptop-a,drafts=home-mac",
		"SIGNAL_MCP_ROUTE_TTL":           "3600",
		"ALDIS_HOLD":                     "90m",
		"ALDIS_RETAIN":                   "90d",
		"ALDIS_RETAIN_BYTES":             "2G",
		"ALDIS_LOG_LEVEL":                "debug",
		"ALDIS_ATTACHMENT_ROOTS":         "/a,/b",
		"SIGNAL_MCP_CHANNEL":             "true",
		"SIGNAL_MCP_TRANSPORT":           "http",
		"SIGNAL_MCP_ROUTE_MAX_ENTRIES":   "5",
		"ALDIS_STATE_DIR":                "/state",
		"SIGNAL_MCP_ALLOW_UNUSED_SOURCE": "not ours",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Serve{
		Common:               Common{StateDir: "/state", LogLevel: slog.LevelDebug, LogFormat: "text"},
		Listen:               Listen{Host: "::1", Port: 8765},
		AuthToken:            "new, old",
		AllowUnauthenticated: true,
		AllowedHost:          []HostName{"box.tail.ts.net", "localhost:9000"},
		Signal: Signal{
			Operator: "+15551234567", Account: "+15551234567",
			SignalCLI:        Address{"unix", "/run/signal.sock"},
			TrustedSender:    []Person{"+15551234568", "0b6c2c1e-9c1b-4b0d-8d0a-000000000001"},
			TrustedRecipient: []Recipient{"*", "group:YWJjZA=="},
			Groups:           "addressed",
			Approver:         []Person{"+15551234567"}, OperatorDevice: []int{1}, PermissionTimeout: Duration(10 * time.Minute),
			AttachmentsDir: filepath.FromSlash("/home/me/.local/share/signal-cli/attachments"),
			AttachmentRoot: []string{"/a", "/b"},
		},
		RouteTTL: Duration(time.Hour), RouteMaxEntries: 5,
		LabelMessages: "auto", Record: "preview", Retain: Age(90 * 24 * time.Hour), RetainBytes: 2 << 30, Hold: Duration(90 * time.Minute), Offline: "fallback", PairRate: 60, RateLimit: 600,
		Alias:   []Alias{{"notes", "laptop-a"}, {"drafts", "home-mac"}},
		DB:      filepath.FromSlash("/state/aldis.db"),
		Channel: true, Transport: "http",
		Desktop:     Desktop{MaxMessages: 200, MaxConversations: 100},
		HistoryAuth: HistoryAuth{AuthMode: "static", RequiredScope: []string{"signal:read"}, RateLimitPerMinute: 120},
	}
	if diff := cmp.Diff(want, c.Serve.Serve); diff != "" {
		t.Error(diff)
	}
	if got := c.Serve.Tokens(); !reflect.DeepEqual(got, []string{"new", "old"}) {
		t.Errorf("Tokens: %q", got)
	}
}

func TestRepeatedFlagsAddUpAndReplaceTheVariable(t *testing.T) {
	c, _, err := parse(t, "serve --alias a=x --alias b=y --allowed-host h", env{"ALDIS_ALIASES": "c=z"})
	if err != nil || len(c.Serve.Alias) != 2 || c.Serve.Aliases()["b"] != "y" || c.Serve.Hosts()[0] != "h" {
		t.Errorf("%v, %v, %v", c.Serve.Alias, c.Serve.AllowedHost, err)
	}
}

func TestWrongSettingsAreErrorsThatNameThem(t *testing.T) {
	for _, tt := range []struct {
		args string
		env  env
		want []string // in the error
	}{
		{"serve --prot=1", nil, []string{"--prot"}},
		{"serve --port=http", nil, []string{"--port", "65535", `"http"`}},
		{"serve --port=65536", nil, []string{"--port"}},
		{"serve", env{"ALDIS_PORT": "http"}, []string{"--port", "ALDIS_PORT", `"http"`}},
		{"serve", env{"SIGNAL_MCP_ALLOW_UNAUTHENTICATED": "perhaps"}, []string{"SIGNAL_MCP_ALLOW_UNAUTHENTICATED", "perhaps"}},
		{"serve", env{"ALDIS_RATE_LIMIT": "many"}, []string{"ALDIS_RATE_LIMIT", "many"}},
		{"serve", env{"ALDIS_ROUTE_MAX_ENTRIES": "1e4"}, []string{"ALDIS_ROUTE_MAX_ENTRIES"}},
		{"serve", env{"ALDIS_TRUSTED_SENDERS": " , "}, []string{"ALDIS_TRUSTED_SENDERS", "empty"}},
		{"serve", env{"ALDIS_RECORD": "some"}, []string{"ALDIS_RECORD", "preview, full, off"}},
		{"serve --record=some", nil, []string{"--record", "preview"}},
		{"serve --groups=none", nil, []string{"--groups"}},
		{"serve --log-level=loud", nil, []string{"--log-level"}},
		{"serve --log-format=xml", nil, []string{"--log-format"}},
		{"serve --label-messages=maybe", nil, []string{"--label-messages"}},
		{"serve --route-ttl=0", nil, []string{"--route-ttl", "more than zero"}},
		{"serve --route-ttl=-1h", nil, []string{"--route-ttl"}},
		{"serve --route-ttl=7d", nil, []string{"--route-ttl", "168h"}},
		{"serve --route-ttl=10000000000", nil, []string{"--route-ttl"}}, // more than a duration holds
		{"serve --route-max-entries=0", nil, []string{"--route-max-entries"}},
		{"serve --hold=0", nil, []string{"--hold"}},
		{"serve --rate-limit=-1", nil, []string{"--rate-limit"}},
		{"serve --signal-cli=7583", nil, []string{"--signal-cli", "host:port"}},
		{"serve --signal-cli=localhost:0", nil, []string{"--signal-cli"}},
		{"serve --signal-cli=unix:", nil, []string{"--signal-cli"}},
		{"serve --allowed-host=http://x/", nil, []string{"--allowed-host", "no scheme"}},
		{"serve --alias=x", nil, []string{"--alias", "NAME=AGENT"}},
		{"serve --alias==x", nil, []string{"--alias"}},
		{"serve --alias=a=x --alias=a=y", nil, []string{"--alias a", "both x and y"}},
		{"serve --default-agent=" + strings.Repeat("a", 129), nil, []string{"--default-agent", "128"}},
		{"serve --transport=stdio", nil, []string{"--transport stdio", "aldis channel"}},
		{"serve", env{"SIGNAL_MCP_TRANSPORT": "sse"}, []string{"--transport sse"}},
		{"serve --host=", nil, []string{"--host is empty", "0.0.0.0"}},
		{"serve --channel=false", nil, []string{"--channel"}},
		{"serve --account=+15551234567", nil, []string{"--account", "--operator"}},
		{"serve", env{"ALDIS_PREFIX": "hey "}, []string{"--prefix"}},
		{"channel", nil, []string{"--operator"}},
		{"channel --operator=+15551234567 --transport=http", nil, []string{"--transport http", "aldis serve"}},
		{"serve", env{"SIGNAL_MCP_PORT": "1", "AGENT_SALON_PORT": "2"}, []string{"SIGNAL_MCP_PORT and AGENT_SALON_PORT", "ALDIS_PORT", "--port"}},
		{"serve", env{"ALDIS_AUTH_TOKEN": ""}, []string{"--auth-token", "ALDIS_AUTH_TOKEN", "--allow-unauthenticated"}},
		{"serve --allow-unauthenticated --host=0.0.0.0", nil, []string{"--allow-unauthenticated", "0.0.0.0"}},
		{"serve --allow-unauthenticated --host=hub.example", nil, []string{"hub.example"}},
		{"serve", env{"ALDIS_AUTH_TOKEN": "a,"}, []string{"--auth-token"}},
		{"serve", env{"ALDIS_AUTH_TOKEN": "a b"}, []string{"--auth-token", "blanks"}},
		{"serve", env{"ALDIS_ADMIN_TOKEN": "ä"}, []string{"--admin-token"}},
		{"serve --admin-token=t", nil, []string{"--admin-token", "agent would be the admin"}},
		{"serve --env-file=/nowhere/aldis.conf", nil, []string{"/nowhere/aldis.conf"}},
		{"serve", env{"ALDIS_CONFIG": "/nowhere/aldis.conf"}, []string{"/nowhere/aldis.conf"}},
		{"serve", env{"HOME": "", "USERPROFILE": ""}, []string{"--state-dir", "ALDIS_STATE_DIR"}},
		{"status", env{"HOME": "", "USERPROFILE": ""}, []string{"--state-dir", "ALDIS_STATE_DIR"}},
		{"send", env{"ALDIS_TOKEN": "a\tb"}, []string{"--token", "blanks"}},
		{"attach", env{"ALDIS_TOKEN": "a\tb"}, []string{"--token", "blanks"}},
		{"status --hub=localhost:8765", nil, []string{"--hub", "http://"}},
		{"status --hub=http://u:p@localhost", nil, []string{"--hub"}},
	} {
		t.Run(fmt.Sprint(tt.args, tt.env), func(t *testing.T) {
			_, _, err := parse(t, tt.args, tt.env)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

func TestErrorsRepeatNoSecretAndNoNumber(t *testing.T) {
	for _, tt := range []struct {
		args string
		env  env
	}{
		{"serve --operator=+1555-hidden", nil},
		{"serve", env{"ALDIS_TRUSTED_SENDERS": "+1555-hidden"}},
		{"serve", env{"ALDIS_TRUSTED_RECIPIENTS": "+1555-hidden"}},
		{"serve", env{"ALDIS_AUTH_TOKEN": "hidden,"}},
		{"serve --admin-token=hidden", env{"ALDIS_AUTH_TOKEN": "hidden"}},
		{"status --hub=http://u:hidden@localhost", nil},
	} {
		_, _, err := parse(t, tt.args, tt.env)
		if err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s %v: %v", tt.args, tt.env, err)
		}
	}
}

func TestMissingFileOfTheOlderVariableIsAWarning(t *testing.T) {
	c, l, err := parse(t, "serve", env{"AGENT_SALON_CONFIG": "/nowhere/salon.conf"})
	if err != nil || len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0], "/nowhere/salon.conf") {
		t.Errorf("warnings %q, %v", l.Warnings, err)
	}
	if c.Serve.EnvFile != "" {
		t.Errorf("env file %q", c.Serve.EnvFile)
	}
}

func TestFileOfTheOlderVariableIsRead(t *testing.T) {
	path := write(t, "# ports", "AGENT_SALON_PORT=1")
	c, _, err := parse(t, "serve", env{"AGENT_SALON_CONFIG": path})
	if err != nil || c.Serve.Port != 1 || c.Serve.EnvFile != path {
		t.Errorf("port %d, file %q, %v", c.Serve.Port, c.Serve.EnvFile, err)
	}
}

func TestUnauthenticatedOnLoopbackNeedsNoToken(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "127.0.0.2", "::1", "[::1]", "localhost"} {
		c, _, err := parse(t, "serve --allow-unauthenticated --host "+host, env{"ALDIS_AUTH_TOKEN": ""})
		if err != nil || c.Serve.Tokens() != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestStateFolderFollowsTheSystem(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths here are those of unix")
	}
	for _, tt := range []struct {
		env  env
		want string
	}{
		{nil, "/home/me/.local/state/aldis"},
		{env{"XDG_STATE_HOME": "/var/state"}, "/var/state/aldis"},
		{env{"XDG_STATE_HOME": "relative"}, "/home/me/.local/state/aldis"},
		{env{"ALDIS_STATE_DIR": "/srv"}, "/srv"},
	} {
		c, _, err := parse(t, "serve", tt.env)
		if err != nil || c.Serve.StateDir != tt.want || c.Serve.DB != tt.want+"/aldis.db" {
			t.Errorf("%v: %q, %q, %v", tt.env, c.Serve.StateDir, c.Serve.DB, err)
		}
	}
}

func TestCommandsFindTheHub(t *testing.T) {
	for _, tt := range []struct {
		args string
		env  env
		want string
	}{
		{"status", nil, "http://127.0.0.1:8765"},
		{"status", env{"SIGNAL_MCP_PORT": "1"}, "http://127.0.0.1:1"}, // where serve would be
		{"status", env{"AGENT_SALON_BIND": "0.0.0.0"}, "http://127.0.0.1:8765"},
		{"status --host=::1", nil, "http://[::1]:8765"},
		{"status", env{"ALDIS_HUB": "https://hub.example/", "ALDIS_PORT": "1"}, "https://hub.example"},
		{"status --hub=http://a:1", env{"ALDIS_HUB": "http://b:2"}, "http://a:1"},
	} {
		c, _, err := parse(t, tt.args, tt.env)
		if err != nil || c.Status.URL != tt.want {
			t.Errorf("%s %v: %q, %v; want %q", tt.args, tt.env, c.Status.URL, err, tt.want)
		}
	}
}

func TestSenderTakesTheFirstTokenOfARotation(t *testing.T) {
	for _, tt := range []struct {
		env  env
		want Secret
	}{
		{env{"ALDIS_AUTH_TOKEN": "new,old"}, "new"},
		{env{"ALDIS_TOKEN": "mine"}, "mine"},
		{env{"ALDIS_AUTH_TOKEN": "", "SIGNAL_MCP_AUTH_TOKEN": "theirs"}, "theirs"},
	} {
		if c, _, err := parse(t, "send", tt.env); err != nil || c.Send.Token != tt.want {
			t.Errorf("%v: %q, %v", tt.env, string(c.Send.Token), err)
		}
	}
}

// A service has no home often.
func TestWhoHasATokenNeedsNoHome(t *testing.T) {
	for _, args := range []string{"send", "attach", "status --admin-token=a"} {
		if _, _, err := parse(t, args, env{"HOME": "", "USERPROFILE": ""}); err != nil {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestSecretPrintsMaskedHoweverItIsPrinted(t *testing.T) {
	s := struct{ Token Secret }{"hidden"}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "token", s.Token, "all", s)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "token", s.Token, "all", s)
	b, _ := json.Marshal(s)
	for _, out := range []string{fmt.Sprintf("%v %+v %#v %s %q %x", s, s, s, s.Token, s.Token, s.Token), log.String(), string(b)} {
		if strings.Contains(out, "hidden") || strings.Contains(out, "68696464656e") {
			t.Error(out)
		}
	}
}

func TestEveryFlagHasAVariableOfItsOwnAndTheHelpShowsIt(t *testing.T) {
	var out bytes.Buffer
	var c commandLine
	l := &Loader{Getenv: func(string) string { return "" }}
	p, err := kong.New(&c, append(l.Options(), kong.Writers(&out, &out), kong.Exit(func(int) {}))...)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = p.Parse([]string{"serve", "--help"}) // the error is that --help does not exit
	shown := strings.Join(strings.Fields(out.String()), " ")
	seen := map[string]string{}
	for _, f := range p.Model.Children[0].Flags {
		vars := Variables(f.Value)
		if len(vars) == 0 || !strings.HasPrefix(vars[0], "ALDIS_") {
			t.Errorf("--%s has no ALDIS_ variable", f.Name)
		}
		for _, v := range vars {
			if seen[v] != "" {
				t.Errorf("%s sets both --%s and --%s", v, seen[v], f.Name)
			}
			seen[v] = f.Name
			if !f.Hidden && !strings.Contains(shown, v) {
				t.Errorf("the help of --%s does not show %s", f.Name, v)
			}
		}
	}
	if len(seen) < 40 {
		t.Errorf("only %d variables seen", len(seen))
	}
}

func TestEnvFileFormat(t *testing.T) {
	for _, tt := range []struct {
		text string
		want map[string]string
	}{
		{"A=1\nB=2", env{"A": "1", "B": "2"}},
		{"A=1\r\nB=2\r\n", env{"A": "1", "B": "2"}},
		{"\ufeffA=1", env{"A": "1"}},
		{"# A=1\n  # B=2\n\n", env{}},
		{`A="x,y=z"`, env{"A": "x,y=z"}},
		{`A=x=y`, env{"A": "x=y"}},
		{`A="`, env{"A": `"`}},
		{`A=""`, env{"A": ""}},
		{"A=x # no comment", env{"A": "x # no comment"}},
		{"  A = 1 ", env{"A": "1"}},
		{"=1\nnothing\nA=1", env{"A": "1"}},
		{"A=1\nA=2", env{"A": "2"}},
	} {
		if got, _ := parseEnvFile(tt.text); !maps.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func FuzzEnvFile(f *testing.F) {
	f.Add("# c\nA=\"1\"\r\n=x\nB = 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		vars, _ := parseEnvFile(text)
		again := strings.Builder{}
		again.WriteByte('\n') // a byte order mark counts on the first line alone
		for k, v := range vars {
			if k == "" || strings.HasPrefix(k, "#") || strings.ContainsAny(k, "=\n") || strings.Contains(v, "\n") {
				t.Fatalf("%q: key %q, value %q", text, k, v)
			}
			fmt.Fprintf(&again, "%s=\"%s\"\n", k, v)
		}
		if got, _ := parseEnvFile(again.String()); !maps.Equal(got, vars) {
			t.Fatalf("%q: %q, written and read again %q", text, vars, got)
		}
	})
}

func TestSizesAndAges(t *testing.T) {
	const day = Age(24 * time.Hour)
	for in, want := range map[string]Age{"90d": 90 * day, "36h": day * 3 / 2, "86400": day, "0": 0, "0d": 0} {
		var a Age
		if err := a.UnmarshalText([]byte(in)); err != nil || a != want {
			t.Errorf("age %q is %v (%v), want %v", in, time.Duration(a), err, time.Duration(want))
		}
	}
	for in, want := range map[string]Size{"0": 0, "1000": 1000, "500M": 500 << 20, "2g": 2 << 30, "2GiB": 2 << 30, "1kb": 1024, "1T": 1 << 40} {
		var z Size
		if err := z.UnmarshalText([]byte(in)); err != nil || z != want {
			t.Errorf("size %q is %d (%v), want %d", in, z, err, want)
		}
	}
	for _, in := range []string{"", "d", "-1d", "1.5d", "99999999d", "-1", "x"} {
		if new(Age).UnmarshalText([]byte(in)) == nil {
			t.Errorf("age %q is accepted", in)
		}
	}
	for _, in := range []string{"", "G", "-1", "1.5G", "2X", "9999999999999T", "1MK"} {
		if new(Size).UnmarshalText([]byte(in)) == nil {
			t.Errorf("size %q is accepted", in)
		}
	}
}

func FuzzSettingTypes(f *testing.F) {
	for _, s := range []string{"604800", "168h", "90d", "2G", "unix:/x", "[::1]:7583", "group:YWJjZA==", "+15551234567", "a=b", "*", "h:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var d Duration
		if d.UnmarshalText([]byte(s)) == nil && d <= 0 {
			t.Errorf("duration %q is %d", s, d)
		}
		var age Age
		if age.UnmarshalText([]byte(s)) == nil && age < 0 {
			t.Errorf("age %q is %d", s, age)
		}
		var size Size
		if size.UnmarshalText([]byte(s)) == nil && size < 0 {
			t.Errorf("size %q is %d", s, size)
		}
		var a Alias
		if a.UnmarshalText([]byte(s)) == nil && (a.Name == "" || a.Agent == "") {
			t.Errorf("alias %q is %v", s, a)
		}
		var addr, again Address
		if addr.UnmarshalText([]byte(s)) == nil && (again.UnmarshalText([]byte(addr.String())) != nil || again != addr) {
			t.Errorf("address %q is %v, then %v", s, addr, again)
		}
		var r Recipient
		if err := r.UnmarshalText([]byte(s)); err == nil && r == "" {
			t.Errorf("recipient %q is empty", s)
		}
		var h HostName
		if h.UnmarshalText([]byte(s)) == nil && strings.ContainsAny(string(h), "/ ") {
			t.Errorf("host %q is %q", s, h)
		}
	})
}
