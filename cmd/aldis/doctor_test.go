package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aldis/internal/doctor"
)

// writeUnder writes a file, and its folders.
func writeUnder(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheDaemonIsFoundAmongTheProcesses(t *testing.T) {
	const addr = "127.0.0.1:7583"
	for _, tt := range []struct {
		name  string
		lines map[string]string // command lines, blanks for NULs
		want  *process
	}{
		{"none", map[string]string{"1": "/sbin/init", "2": "vi signal-cli", "3": ""}, nil},
		{"a program of its own", map[string]string{"9": "/usr/bin/signal-cli -a X daemon --tcp " + addr + " --receive-mode on-connection"}, &process{mode: "on-connection"}},
		{"under Java", map[string]string{"9": "java -cp x org.asamk.signal.Main daemon --tcp=" + addr + " --receive-mode=manual"}, &process{mode: "manual"}},
		{"untold it receives from the start", map[string]string{"9": "signal-cli daemon --tcp"}, &process{mode: "on-start"}},
		{"told in vain", map[string]string{"9": "signal-cli daemon --receive-mode"}, &process{mode: "on-start"}},
		{"ours of several", map[string]string{"8": "signal-cli daemon --tcp 1:1", "9": "signal-cli daemon --tcp " + addr + " --receive-mode manual"}, &process{mode: "manual"}},
		{"which of several, nobody knows", map[string]string{"8": "signal-cli daemon --tcp 1:1", "9": "signal-cli daemon --tcp 2:2"}, nil},
		{"another command of it", map[string]string{"9": "signal-cli -a X receive"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			proc := t.TempDir()
			for pid, line := range tt.lines {
				writeUnder(t, proc, pid+"/cmdline", strings.ReplaceAll(line, " ", "\x00")+"\x00")
			}
			got := findDaemon(proc, addr)
			if (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestJavaSaysWhichItIs(t *testing.T) {
	dir := t.TempDir()
	java := writeUnder(t, dir, "jdk/bin/java", "")
	writeUnder(t, dir, "jdk/release", "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"25.0.1\"\n")
	exe := filepath.Join(dir, "exe")
	if err := os.Symlink(java, exe); err != nil {
		t.Skip(err)
	}
	if v := javaVersion(exe); v != "25.0.1" {
		t.Errorf("version %q", v)
	}
	if v := javaVersion(filepath.Join(dir, "none")); v != "" {
		t.Errorf("version %q of none", v)
	}
}

// examine makes the probes that need no network in a home of its own.
func examine(t *testing.T, home string, probes ...func(*prober)) doctor.Facts {
	t.Helper()
	t.Chdir(home)
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	p := &prober{doctorCmd: &doctorCmd{}, managed: filepath.Join(home, "managed")}
	p.URL = "http://127.0.0.1:8765"
	p.env.getenv = func(name string) string { return map[string]string{"HOME": home}[name] }
	for _, do := range probes {
		do(p)
	}
	return p.facts
}

func TestAManagedPolicyIsFound(t *testing.T) {
	home := t.TempDir()
	writeUnder(t, home, ".claude.json", `{"mcpServers": {"aldis": {"type": "http", "url": "http://localhost:8765/mcp", "headers": {"X-Signal-Agent-Id": "bot"}}}}`)
	policy := writeUnder(t, home, "managed/managed-settings.json", `{"channelsEnabled": false}`)
	f := examine(t, home, func(p *prober) { p.clients(context.Background()) })
	if len(f.Clients) != 1 || !f.Clients[0].Here || f.Clients[0].Agent != "bot" {
		t.Errorf("clients %+v", f.Clients)
	}
	if len(f.Switches) != 1 || f.Switches[0].Name != "channelsEnabled" || f.Switches[0].Where != policy || !f.Switches[0].Managed {
		t.Errorf("switches %+v", f.Switches)
	}
}

func TestAProgramThatIsNotThereIsFound(t *testing.T) {
	home := t.TempDir()
	gone := filepath.Join(home, "gone", "aldis")
	writeUnder(t, home, ".config/crush/crush.json", `{"mcp": {"aldis": {"type": "stdio", "command": "`+filepath.ToSlash(gone)+`", "args": ["attach", "--agent", "bot"]}}}`)
	f := examine(t, home, func(p *prober) { p.clients(context.Background()) })
	if len(f.Clients) != 1 || f.Clients[0].Absent == "" || f.Clients[0].Verb != "attach" || !f.Clients[0].Here {
		t.Errorf("clients %+v", f.Clients)
	}
}

func TestOneHubByTwoNames(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"http://127.0.0.1:8765", "http://localhost:8765", true},
		{"http://[::1]:8765", "http://localhost:8765/", true},
		{"https://Hub.example", "https://hub.example", true},
		{"http://127.0.0.1:8765", "http://127.0.0.1:8766", false},
		{"http://127.0.0.1:8765", "https://127.0.0.1:8765", false},
		{"http://hub.example/a", "http://hub.example/b", false},
		{"http://hub.example", "http://localhost", false},
		{"http://%", "http://%", false},
	} {
		if got := sameHub(tt.a, tt.b); got != tt.want {
			t.Errorf("%s and %s: %v", tt.a, tt.b, got)
		}
	}
}

func TestAHubBehindTLSThatIsNone(t *testing.T) {
	secure, plain := httptest.NewTLSServer(http.NotFoundHandler()), httptest.NewServer(http.NotFoundHandler())
	defer secure.Close()
	defer plain.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	for _, tt := range []struct {
		url  string
		want doctor.Presence
		says string
	}{
		{secure.URL, doctor.Silent, "certificate"},
		{strings.Replace(plain.URL, "http:", "https:", 1), doctor.Foreign, "HTTPS"},
		{plain.URL, doctor.Foreign, "404"},
	} {
		who, why := whose(tt.url, ask(t.Context(), http.MethodGet, tt.url, ""))
		if who != tt.want || !strings.Contains(why, tt.says) {
			t.Errorf("%s: %s, %q; want %s, %q", tt.url, who, why, tt.want, tt.says)
		}
	}
}

// What is at the daemon's address may say anything, and ends the question.
func FuzzAnswerOfADaemon(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":"1","result":{"version":"0.14.6"}}`, `{"jsonrpc":"2.0","method":"receive"}`, `{"jsonrpc":"2.0","id":"1","error":{}}`,
		"HTTP/1.1 400 Bad Request\r\n\r\n", "220 mail.example ESMTP\n", "[]", `{"jsonrpc":"2.0","id":1}`, "",
	} {
		f.Add(s + "\n")
	}
	f.Fuzz(func(t *testing.T, said string) {
		var v struct{ Version string }
		fault, why := call(io.Discard, bufio.NewReader(strings.NewReader(said)), "1", "version", &v)
		if fault != "" && v.Version != "" || fault == doctor.NoDaemon && why == "" {
			t.Errorf("%q: %q, %q, version %q", said, fault, why, v.Version)
		}
	})
}

// A probe that never ends by itself ends with its round. What is waited for is
// shown after a second, and gone at the end.
func TestARoundOfProbesEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		w := newWaiting(&out)
		began := time.Now()
		w.round(t.Context(), 2500*time.Millisecond, map[string]probe{
			"what ends":  func(context.Context) {},
			"what hangs": func(ctx context.Context) { <-ctx.Done() },
		})
		w.stop()
		if took := time.Since(began); took != 2500*time.Millisecond {
			t.Errorf("it took %s", took)
		}
		if want := strings.Repeat("\r\x1b[Kwaiting for what hangs …", 2) + "\r\x1b[K"; out.String() != want {
			t.Errorf("shown: %q", out.String())
		}
	})
}
