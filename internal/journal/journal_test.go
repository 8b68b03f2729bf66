package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
)

var (
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	quiet = slog.New(slog.DiscardHandler)
)

// start returns a journal whose clock stands still, and what ends it and
// returns its lines.
func start(t *testing.T) (j *Journal, end func() []string) {
	t.Helper()
	j, err := open(filepath.Join(t.TempDir(), "log.jsonl"), quiet)
	if err != nil {
		t.Fatal(err)
	}
	j.now = func() time.Time { return noon }
	go j.run()
	t.Cleanup(func() { _ = j.Close() })
	return j, func() []string {
		t.Helper()
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		return lines(t, j.path)
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

func TestLines(t *testing.T) {
	script := hub.Message{
		ID: "m1", Via: hub.ViaNotify, Kind: hub.Text, Time: noon, Agent: "ci", Addr: "10.0.0.7:4711", To: "notes",
		Text: "a <b>\n& \xff", Meta: map[string]string{"kind": "info"},
	}
	tool := hub.Message{ID: "m2", Via: hub.ViaTool, Kind: hub.Text, Time: noon, Agent: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Session: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Text: "hi"}
	person := hub.Message{
		ID: "m3", Via: hub.ViaPlatform, Kind: hub.Reaction, Time: noon, From: hub.Sender{ID: "+15555550101"},
		Ref: hub.Ref{Platform: "signal", Chat: "+15555550101"}, Text: "👍",
	}
	out := hub.Message{ID: "m4", Via: hub.ViaTool, Kind: hub.Text, Time: noon, Agent: "ci", Ref: hub.Ref{Platform: "signal", Chat: "+15555550101"}, Text: "done"}
	for _, tt := range []struct {
		name string
		do   func(j *Journal)
		want []string
	}{
		{
			"a script's, by the real name of whom it is for",
			func(j *Journal) {
				j.Received(script, hub.Receipt{ID: "m1", Known: true, To: "alice", Decision: hub.Decision{To: []hub.AgentID{"alice"}}}, nil, 0)
			},
			[]string{`{"kind":"message","id":"m1","ts":"2026-03-01T12:00:00Z","via":"notify","source":"ci","target":"alice","content":"a <b>\n& �","meta":{"kind":"info"},"delivered_to":["alice"],"sender_addr":"10.0.0.7:4711","sender_session_id":null}`},
		},
		{
			"one that is held",
			func(j *Journal) {
				j.Received(script, hub.Receipt{ID: "m1", Known: true, To: "alice", Decision: hub.Decision{To: []hub.AgentID{"alice"}, Hold: true}}, nil, 0)
			},
			[]string{`{"kind":"message","id":"m1","ts":"2026-03-01T12:00:00Z","via":"notify","source":"ci","target":"alice","content":"a <b>\n& �","meta":{"kind":"info"},"delivered_to":[],"sender_addr":"10.0.0.7:4711","sender_session_id":null,"held":true}`},
		},
		{
			"a broadcast of an agent without a name",
			func(j *Journal) {
				j.Received(tool, hub.Receipt{ID: "m2", Known: true, Decision: hub.Decision{To: []hub.AgentID{"alice", "bob"}}}, nil, 0)
			},
			[]string{`{"kind":"message","id":"m2","ts":"2026-03-01T12:00:00Z","via":"tool","source":"ABCDEFGH","target":null,"content":"hi","meta":{},"delivered_to":["alice","bob"],"sender_addr":null,"sender_session_id":"ABCDEFGH"}`},
		},
		{
			"for nobody",
			func(j *Journal) { j.Received(tool, hub.Receipt{ID: "m2", To: "nobody"}, nil, 0) },
			[]string{
				`{"kind":"message","id":"m2","ts":"2026-03-01T12:00:00Z","via":"tool","source":"ABCDEFGH","target":"nobody","content":"hi","meta":{},"delivered_to":[],"sender_addr":null,"sender_session_id":"ABCDEFGH"}`,
				`{"kind":"event","event":"delivery_skipped","ts":"2026-03-01T12:00:00Z","id":"m2","target":"nobody","reason":"no agent of that name"}`,
			},
		},
		{
			"a person's",
			func(j *Journal) {
				j.Received(person, hub.Receipt{ID: "m3", Decision: hub.Decision{To: []hub.AgentID{"alice"}}}, nil, 0)
			},
			[]string{`{"kind":"message","id":"m3","ts":"2026-03-01T12:00:00Z","via":"platform","source":"+15555550101","target":null,"content":"👍","meta":{},"delivered_to":["alice"],"sender_addr":null,"sender_session_id":null,"platform":"signal","type":"reaction"}`},
		},
		{
			"a stranger's, of which nothing is kept",
			func(j *Journal) { j.Received(person, hub.Receipt{ID: "m3", Dropped: "stranger"}, nil, 0) },
			[]string{`{"kind":"event","event":"dropped","ts":"2026-03-01T12:00:00Z","id":"m3","platform":"signal","reason":"stranger"}`},
		},
		{
			"one that could not be recorded",
			func(j *Journal) { j.Received(script, hub.Receipt{}, hub.Errorf(hub.Unavailable, "full"), 0) },
			[]string{`{"kind":"event","event":"not_recorded","ts":"2026-03-01T12:00:00Z","id":"m1","source":"ci","reason":"unavailable"}`},
		},
		{
			"repetitions",
			func(j *Journal) {
				j.Received(script, hub.Receipt{}, hub.Errorf(hub.Conflict, "it is there"), 0)
				j.Received(person, hub.Receipt{ID: "m3", Repeated: true}, nil, 0)
			},
			[]string{""},
		},
		{
			"sent to a platform",
			func(j *Journal) { j.Sent(out, hub.Sent{Reached: 1}, nil, 0) },
			[]string{`{"kind":"message","id":"m4","ts":"2026-03-01T12:00:00Z","via":"tool","source":"ci","target":"+15555550101","content":"done","meta":{},"delivered_to":["signal"],"sender_addr":null,"sender_session_id":null,"platform":"signal"}`},
		},
		{
			"not sent",
			func(j *Journal) { j.Sent(out, hub.Sent{}, errors.New("never mind"), 0) },
			[]string{
				`{"kind":"message","id":"m4","ts":"2026-03-01T12:00:00Z","via":"tool","source":"ci","target":"+15555550101","content":"done","meta":{},"delivered_to":[],"sender_addr":null,"sender_session_id":null,"platform":"signal"}`,
				`{"kind":"event","event":"delivery_skipped","ts":"2026-03-01T12:00:00Z","id":"m4","target":"+15555550101","platform":"signal","reason":"internal"}`,
			},
		},
		{
			"how deliveries end",
			func(j *Journal) {
				j.Settled("m1", hub.Delivery{Agent: "alice", State: hub.HandedOver, Time: noon}, 1500*time.Millisecond)
				j.Settled("m1", hub.Delivery{Agent: "bob", State: hub.Failed, Reason: "expired", Time: noon}, 0)
			},
			[]string{
				`{"kind":"event","event":"handed_over","ts":"2026-03-01T12:00:00Z","id":"m1","target":"alice","seconds":1.5}`,
				`{"kind":"event","event":"delivery_skipped","ts":"2026-03-01T12:00:00Z","id":"m1","target":"bob","reason":"expired"}`,
			},
		},
		{
			"sessions and verdicts",
			func(j *Journal) {
				j.Session("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "alice", true, "connected")
				j.Decided(hub.Prompt{ID: "m5", Agent: "alice", Session: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Tool: "Bash", Text: "rm -rf", Allow: true, By: "+1", At: noon})
			},
			[]string{
				`{"kind":"event","event":"session_connected","ts":"2026-03-01T12:00:00Z","session":"ABCDEFGH","agent":"alice"}`,
				`{"kind":"event","event":"verdict","ts":"2026-03-01T12:00:00Z","id":"m5","session":"ABCDEFGH","agent":"alice","tool":"Bash","verdict":"allowed"}`,
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j, end := start(t)
			tt.do(j)
			got := end()
			for i := range got { // before Go 1.27 encoding/json escaped what stands for bad UTF-8
				got[i] = strings.ReplaceAll(got[i], `\ufffd`, "\ufffd")
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("lines (-want +got):\n%s", d)
			}
		})
	}
}

func TestCloseWritesWhatWaitsInOrder(t *testing.T) {
	j, end := start(t)
	var want []string
	for i := range maxLines / 2 {
		j.put(i, 0)
		want = append(want, fmt.Sprint(i))
	}
	if d := cmp.Diff(want, end()); d != "" {
		t.Errorf("lines (-want +got):\n%s", d)
	}
	j.put("late", 0) // neither waits nor panics
}

func TestFullQueueDropsAndCounts(t *testing.T) {
	for _, tt := range []struct {
		name             string
		puts, size, kept int
	}{
		{"too many lines", maxLines + 10, 1, maxLines},
		{"too much text", 20, 1 << 20, 16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j, err := open(filepath.Join(t.TempDir(), "log.jsonl"), quiet)
			if err != nil {
				t.Fatal(err)
			}
			for i := range tt.puts { // nothing writes yet
				j.put(i, tt.size)
			}
			if n := j.Dropped(); n != uint64(tt.puts-tt.kept) {
				t.Errorf("%d dropped, want %d", n, tt.puts-tt.kept)
			}
			go j.run()
			if err := j.Close(); err != nil {
				t.Error(err)
			}
			if n := len(lines(t, j.path)); n != tt.kept {
				t.Errorf("%d lines, want %d", n, tt.kept)
			}
			if n := j.waiting.Load(); n != 0 {
				t.Errorf("%d bytes still count as waiting", n)
			}
		})
	}
}

// A disk that is full for a while takes lines with it, but no line after.
func TestFailedWritesAreCounted(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no disk is always full here: %v", err)
	}
	j, err := open(filepath.Join(t.TempDir(), "log.jsonl"), quiet)
	if err != nil {
		t.Fatal(err)
	}
	room := j.file
	j.file = full
	j.flush([]byte("1\n2\n"), 2)
	j.flush([]byte("3\n"), 1)
	j.file = room
	j.flush([]byte("4\n"), 1)
	if n := j.Dropped(); n != 3 {
		t.Errorf("%d dropped, want 3", n)
	}
	if d := cmp.Diff([]string{"4"}, lines(t, j.path)); d != "" {
		t.Errorf("lines (-want +got):\n%s", d)
	}
}

// What a full disk has cut off spoils no line but its own.
func TestLineAfterATornOneIsWhole(t *testing.T) {
	j, err := open(filepath.Join(t.TempDir(), "log.jsonl"), quiet)
	if err != nil {
		t.Fatal(err)
	}
	j.flush([]byte("1\n2"), 2)
	j.put(3, 0)
	go j.run()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"1", "2", "3"}, lines(t, j.path)); d != "" {
		t.Errorf("lines (-want +got):\n%s", d)
	}
}

func TestReopenGoesOnInANewFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be renamed on Windows")
	}
	j, err := open(filepath.Join(t.TempDir(), "log.jsonl"), quiet)
	if err != nil {
		t.Fatal(err)
	}
	j.write(entry{value: 1})
	old := j.path + ".1"
	if err := os.Rename(j.path, old); err != nil {
		t.Fatal(err)
	}
	j.write(entry{value: 2}) // before anybody has said so
	j.openAgain()
	j.write(entry{value: 3})
	if err := os.Rename(filepath.Dir(j.path), filepath.Dir(j.path)+"-away"); err != nil {
		t.Fatal(err)
	}
	j.openAgain() // there is no place for it: it goes on in the old one
	j.write(entry{value: 4})
	dir := filepath.Dir(j.path) + "-away"
	if d := cmp.Diff([]string{"1", "2"}, lines(t, filepath.Join(dir, "log.jsonl.1"))); d != "" {
		t.Errorf("old file (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"3", "4"}, lines(t, filepath.Join(dir, "log.jsonl"))); d != "" {
		t.Errorf("new file (-want +got):\n%s", d)
	}
	if err := j.file.Close(); err != nil {
		t.Error(err)
	}
	_ = os.RemoveAll(dir)
}

func TestFileIsPrivateAndIsAppendedTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	for i := range 2 {
		j, err := Open(path, quiet)
		if err != nil {
			t.Fatal(err)
		}
		j.put(i, 0)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]string{"0", "1"}, lines(t, path)); d != "" {
		t.Errorf("lines (-want +got):\n%s", d)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("the file is %v, want 0600", mode)
	}
}

func TestOpenTakesFilesAlone(t *testing.T) {
	if _, err := Open(t.TempDir(), quiet); hub.KindOf(err) != hub.Invalid {
		t.Errorf("open a folder: %v, want an Invalid error", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "no", "log.jsonl"), quiet); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open in no folder: %v", err)
	}
}

// BenchmarkReceived is what Receive waits for the log of messages, which is
// written meanwhile.
func BenchmarkReceived(b *testing.B) {
	j, err := Open(filepath.Join(b.TempDir(), "log.jsonl"), quiet)
	if err != nil {
		b.Fatal(err)
	}
	m := hub.Message{ID: "m1", Via: hub.ViaTool, Kind: hub.Text, Time: noon, Agent: "alice", Text: "build 214 is green"}
	r := hub.Receipt{Known: true, To: "bob", Decision: hub.Decision{To: []hub.AgentID{"bob"}}}
	for b.Loop() {
		j.Received(m, r, nil, time.Millisecond)
	}
	b.ReportMetric(float64(j.Dropped())/float64(b.N), "dropped/op")
	if err := j.Close(); err != nil {
		b.Error(err)
	}
}
