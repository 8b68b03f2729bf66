package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/config"
	"aldis/internal/hub"
)

// logHub runs a hub in this process, with its state in dir, until stop is
// called.
func logHub(t *testing.T, dir string, port int) (h *hubProcess, stop func()) {
	t.Helper()
	c := config.Serve{AuthToken: "shared", AdminToken: "admin", Record: "preview", RouteMaxEntries: 1, Hold: config.Duration(time.Hour)}
	c.StateDir, c.Host, c.Port, c.DB = dir, "127.0.0.1", config.Port(port), filepath.Join(dir, "aldis.db")
	ctx, cancel := context.WithCancel(t.Context())
	h, err := openHub(ctx, c, slog.New(slog.DiscardHandler), joinOperator)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- h.run(ctx) }()
	return h, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := h.close(); err != nil {
			t.Error(err)
		}
	}
}

// tell has a script say text to an agent.
func tell(t *testing.T, h *hubProcess, to hub.AgentID, text string) hub.MessageID {
	t.Helper()
	r, err := h.relay.Receive(t.Context(), hub.Message{Via: hub.ViaNotify, Kind: hub.Text, Agent: "ci", Subject: "main", To: to, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return r.ID
}

// aldisLog runs aldis log against the hub at url.
func aldisLog(ctx context.Context, url string, stdout, stderr io.Writer, args ...string) int {
	args = append([]string{"log", "--hub", url, "--admin-token", "admin", "--state-dir", "/nowhere"}, args...)
	return run(ctx, args, env{strings.NewReader(""), stdout, stderr, func(string) string { return "" }})
}

// A terminal acts on nothing in a line, though the record was taken over from
// another program.
func TestLogLine(t *testing.T) {
	const evil = "\x1b]0;\u009b2J\r\n\u202e"
	m := logMessage{Via: evil, Source: evil, Name: evil, Target: evil, Content: evil, Deliveries: []logDelivery{{To: evil, State: "failed", Reason: evil}}}
	for _, terminal := range []bool{false, true} {
		list := &table{terminal: terminal}
		list.row(m.cells(list)...)
		if line, _ := strings.CutSuffix(list.rows.String(), "\n"); strings.ContainsAny(line, "\x1b\u009b\r\n\u202e") {
			t.Errorf("line %q", line)
		}
	}
}

func TestLog(t *testing.T) {
	h, stop := logHub(t, t.TempDir(), 0)
	defer stop()
	tell(t, h, "home", "one\nline \x1b[31m\u202eof text")
	id := tell(t, h, "", "to all")
	tell(t, h, "attic", strings.Repeat("long ", 200))
	for _, tt := range []struct {
		name, args string
		code       int
		want       []string // what each line has in it
	}{
		{"everything, oldest first", "", exitOK, []string{"Z\tnotify\tci\thome\tfailed\tone line \uFFFD[31m\uFFFDof text", "to all", "long long"}},
		{"a limit takes the newest", "--limit 2", exitOK, []string{"to all", "long"}},
		{"filters", "--target home --since 1h --via notify", exitOK, []string{"one line"}},
		{"between two", "--with ci --with attic", exitOK, []string{"…"}},
		{"without one", "--exclude attic --exclude home", exitOK, []string{"to all"}},
		{"none of that time", "--until 1h", exitOK, nil},
		{"JSON", "--json --source ci --target ", exitOK, []string{`"content":"one\nline`, `{"id":"` + string(id) + `"`, `"state":"failed"`}},
		{"three participants", "--with a --with b --with c", exitUsage, nil},
		{"no time", "--since yesterday", exitUsage, nil},
		{"no limit", "--limit 0", exitUsage, nil},
		{"no such way", "--via pigeon", exitUsage, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			var args []string
			if tt.args != "" {
				args = strings.Split(tt.args, " ")
			}
			if code := aldisLog(t.Context(), h.server.URL(), &out, &errs, args...); code != tt.code {
				t.Fatalf("exit %d, want %d: %s", code, tt.code, errs.String())
			}
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if out.Len() == 0 {
				lines = nil
			}
			if len(lines) != len(tt.want) {
				t.Fatalf("%d lines, want %d:\n%s", len(lines), len(tt.want), out.String())
			}
			for i, want := range tt.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("line %d is %q, want %q in it", i, lines[i], want)
				}
			}
		})
	}
}

// A log that is followed goes on after a restart of the hub, with what was said
// since and nothing twice, and ends in order when it is stopped.
func TestLogFollows(t *testing.T) {
	dir := t.TempDir()
	h, stop := logHub(t, dir, 0)
	address := h.server.URL()
	tell(t, h, "a", "before")
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := aldisLog(ctx, address, in, io.Discard, "--follow", "--json")
		ended <- code
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	expect := func(want string) {
		t.Helper()
		var m logMessage
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &m) != nil || m.Content != want {
			t.Fatalf("%q, want %q", lines.Text(), want)
		}
	}
	expect("before")
	tell(t, h, "a", "meanwhile")
	expect("meanwhile")
	tell(t, h, "a", "last")
	stop()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	_, number, _ := net.SplitHostPort(u.Host)
	port, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	h, stop = logHub(t, dir, port)
	defer stop()
	tell(t, h, "a", "after")
	expect("last")
	expect("after")
	cancel()
	if code := <-ended; code != exitOK {
		t.Errorf("exit %d, want %d", code, exitOK)
	}
}

// An answer has a bound, and the page after it begins where it ends.
func TestLogAnswersFit(t *testing.T) {
	big := strings.Repeat("x", maxLogBytes/2)
	entries := []hub.LogEntry{{ID: "3", Text: big}, {ID: "2", Text: big}, {ID: "1", Text: big + "x"}}
	ids := func(entries []hub.LogEntry) (s string) {
		for _, e := range entries {
			s += string(e.ID)
		}
		return s
	}
	newest, cut := fitting(entries, false)
	if ids(newest) != "32" || !cut {
		t.Errorf("newest first: %s, cut: %v", ids(newest), cut)
	}
	oldest, cut := fitting(entries, true)
	if ids(oldest) != "1" || !cut {
		t.Errorf("after a message: %s, cut: %v", ids(oldest), cut)
	}
}

func TestParseMoment(t *testing.T) {
	zone := time.FixedZone("", 2*60*60)
	now := time.Date(2026, 3, 8, 12, 0, 0, 0, zone)
	for in, want := range map[string]time.Time{
		"":                     {},
		"2026-03-01":           time.Date(2026, 3, 1, 0, 0, 0, 0, zone),
		"2026-03-01T10:30":     time.Date(2026, 3, 1, 10, 30, 0, 0, zone),
		"2026-03-01 10:30:05":  time.Date(2026, 3, 1, 10, 30, 5, 0, zone),
		"2026-03-01T10:30:00Z": time.Date(2026, 3, 1, 10, 30, 0, 0, time.UTC),
		"2h":                   now.Add(-2 * time.Hour),
		"7d":                   now.AddDate(0, 0, -7),
	} {
		if got, err := parseMoment(in, now); err != nil || !got.Equal(want) {
			t.Errorf("%q is %v (%v), want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"yesterday", "-2h", "2026-13-01", "2x"} {
		if _, err := parseMoment(in, now); err == nil {
			t.Errorf("%q is accepted", in)
		}
	}
}

// FuzzLogFilter has whatever is in a query read, and written and read again.
func FuzzLogFilter(f *testing.F) {
	f.Add("source=a&exclude=b&exclude=c&since=2026-03-01T12:00:00Z&limit=5")
	f.Add("since=x&until=2026-03-01T12:00:00.5%2B02:00&text=a+b&after=1")
	f.Fuzz(func(t *testing.T, query string) {
		v, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		filter, err := parseLogFilter(v)
		if err != nil {
			if hub.KindOf(err) != hub.Invalid {
				t.Errorf("%q: %v", query, err)
			}
			return
		}
		if filter.Since.Year() > 9998 || filter.Until.Year() > 9998 || filter.Since.Year() < 1 || filter.Until.Year() < 1 {
			return // in UTC it may be a year that cannot be written
		}
		filter.Exclude = nil // an empty name excludes nobody, and is not written
		again, err := parseLogFilter(logValues(filter))
		if diff := cmp.Diff(filter, again); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", query, err, diff)
		}
	})
}

// What aldis log prints is passed on: whoever has the id of a session can be it.
func TestLogSaysTheStartOfASessionAlone(t *testing.T) {
	b, err := json.Marshal(newLogMessage(hub.LogEntry{Session: "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}))
	if err != nil || !strings.Contains(string(b), `"sender_session_id":"ABCDEFGH"`) {
		t.Errorf("%s, %v", b, err)
	}
}
