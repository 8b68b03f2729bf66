package desktop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aldis/internal/hubtest/signaldesktop"
)

// What the benchmarks look for, besides the needles of the fixture.
const (
	benchMessages = 500_000
	largest       = "chat-0"  // has a sixth of all
	small         = "chat-39" // has a hundredth
	cyrillic      = "Ёжик"    // is in one message
	nowhere       = "xylophone quartetto"
)

// BenchmarkBesideSignal asks a reader, and Signal Desktop's own library, for the
// same, one after the other, of one database, in which Signal may have written
// before each. Each gives what a program works on: rows whose JSON is read, of
// ours a whole answer. It reports the fastest of each.
func BenchmarkBesideSignal(b *testing.B) {
	d := benchDesktop(b)
	r := d.reader(b, Grants{})
	b.Run("open", func(b *testing.B) {
		contest{ours: func() {
			r, err := Open(b.Context(), d.options(b))
			if err != nil {
				b.Fatal(err)
			}
			if err := r.Close(); err != nil {
				b.Fatal(err)
			}
		}, theirs: func() time.Duration { return d.TimeOpen(d.dir) }}.run(b)
	})
	for _, c := range []struct {
		name string
		contest
	}{
		{"list", d.list(b, r)},
		{"newest", d.newest(b, r)},
		{"common", d.search(b, r, 50, SearchQuery{Text: signaldesktop.CommonNeedle})},
		{"rare", d.search(b, r, benchMessages/50_000, SearchQuery{Text: signaldesktop.RareNeedle})},
		{"rare Cyrillic in other case", d.search(b, r, 1, SearchQuery{Text: strings.ToLower(cyrillic)})},
		{"rare in the largest chat", d.search(b, r, 0, SearchQuery{Text: nowhere, Conversation: largest})},
		{"rare in a small chat", d.search(b, r, 0, SearchQuery{Text: nowhere, Conversation: small})},
	} {
		b.Run(c.name, c.run)
		c.before = func() { d.put("items", columns{"id": "bench", "json": columns{}}) }
		b.Run(c.name+", after a commit", c.run)
	}
}

// A contest is who is faster.
type contest struct {
	before func() // each of them; may be nil
	ours   func()
	theirs func() time.Duration // the best that the library can do
	plain  func() time.Duration // what comes to mind first; may be nil
}

func (c contest) run(b *testing.B) {
	our, their, plain := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	before := func() {
		if c.before != nil {
			c.before()
		}
	}
	for b.Loop() {
		before()
		begin := time.Now()
		c.ours()
		our = min(our, time.Since(begin))
		before()
		their = min(their, c.theirs())
		if c.plain != nil {
			plain = min(plain, c.plain())
		}
	}
	b.ReportMetric(0, "ns/op") // of all together
	b.ReportMetric(ms(our), "ms")
	b.ReportMetric(ms(their), "addon-ms")
	b.ReportMetric(float64(their)/float64(our), "addon-ratio")
	if c.plain != nil {
		b.ReportMetric(ms(plain), "plain-ms")
		b.ReportMetric(float64(plain)/float64(our), "plain-ratio")
	}
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

func (d desktop) list(b *testing.B, r *Reader) contest {
	query := signaldesktop.Query{SQL: "SELECT id, type, active_at, serviceId, json FROM conversations WHERE active_at IS NOT NULL ORDER BY active_at DESC, id LIMIT 101"}
	return contest{ours: func() {
		if list, err := r.Conversations(b.Context(), ConversationQuery{}); err != nil || len(list.Conversations) != 40 {
			b.Fatalf("%d conversations, error %v", len(list.Conversations), err)
		}
	}, theirs: func() time.Duration { return d.Time(d.dir, query) }}
}

func (d desktop) newest(b *testing.B, r *Reader) contest {
	queries := d.newestQueries(largest)
	return contest{ours: func() {
		page, err := r.Messages(b.Context(), MessageQuery{Conversation: largest})
		if err != nil || len(page.Messages) < 100 { // a page has an end in bytes too
			b.Fatalf("%d messages, error %v", len(page.Messages), err)
		}
	}, theirs: func() time.Duration { return d.Time(d.dir, queries...) }}
}

func (d desktop) search(b *testing.B, r *Reader, hits int, q SearchQuery) contest {
	q.Limit = 50
	best, plain := searchQueries(q.Text, q.Conversation)
	return contest{ours: func() {
		if page, err := r.Search(b.Context(), q); err != nil || len(page.Messages) != hits {
			b.Fatalf("%d messages, error %v", len(page.Messages), err)
		}
	}, theirs: func() time.Duration { return d.Time(d.dir, best) }, plain: func() time.Duration { return d.Time(d.dir, plain) }}
}

// benchDesktop is the database that the benchmarks read.
func benchDesktop(b *testing.B) desktop {
	d := newDesktop(b, signaldesktop.Options{Schema: 1830, Messages: benchMessages})
	d.put("messages", columns{
		"id": "cyrillic", "conversationId": largest, "type": "incoming", "body": "a " + cyrillic, "json": columns{},
		"received_at": 1, "sent_at": 1, "received_at_ms": 1,
	})
	d.Checkpoint("TRUNCATE")
	return d
}

const readColumns = `m.received_at, m.sent_at, m.rowid, m.id, m.conversationId, m.type, m.body, m.received_at_ms, m.sourceServiceId,
	m.isErased, m.isViewOnce, m.hasAttachments, m.hasFileAttachments, m.hasVisualMediaAttachments, m.json`

// newestQueries are those for a page of a chat and the attachments on it.
func (d desktop) newestQueries(chat string) []signaldesktop.Query {
	page := `FROM messages m INDEXED BY messages_conversation_no_story_id WHERE m.conversationId = ? AND m.isStory = 0 AND m.storyId IS NULL
		AND m.type IN ('incoming', 'outgoing') ORDER BY m.received_at DESC, m.sent_at DESC, m.rowid DESC LIMIT 201`
	var ids []any
	for _, row := range d.Rows("SELECT m.id "+page, chat) {
		ids = append(ids, row[0])
	}
	return []signaldesktop.Query{
		{SQL: "SELECT " + readColumns + " " + page, Args: []any{chat}},
		{SQL: `SELECT messageId, attachmentType, contentType, fileName, caption, size, width, height, duration, flags, path FROM message_attachments
			WHERE editHistoryIndex = -1 AND messageId IN (?` + strings.Repeat(", ?", len(ids)-1) + `)`, Args: ids},
	}
}

// searchQueries are the fastest query for a text that Signal's database allows
// without another index, and that which comes to mind first.
func searchQueries(needle, chat string) (best, plain signaldesktop.Query) {
	index, where, args := "messages_searchOrder", " LIKE ?", []any{"%" + needle + "%"}
	if chat != "" {
		index, where = "messages_conversation_no_story_id", where+" AND m.conversationId = ? AND m.isStory = 0"
		args = append(args, chat)
	}
	const order = " ORDER BY m.received_at DESC, m.sent_at DESC, m.rowid DESC LIMIT 51"
	best.SQL = "SELECT " + readColumns + " FROM messages m INDEXED BY " + index +
		" CROSS JOIN messages_fts_content c ON c.id = m.rowid WHERE c.c0" + where + order
	plain.SQL = "SELECT " + readColumns + " FROM messages m WHERE m.body" + where + order
	best.Args, plain.Args = args, args
	return best, plain
}

// BenchmarkMemory has the program do all of it over stdio, and reports the most
// memory that it ever had, besides that with which it was ready.
func BenchmarkMemory(b *testing.B) {
	d := benchDesktop(b)
	bin := filepath.Join(b.TempDir(), "aldis")
	if out, err := exec.Command("go", "build", "-o", bin, "aldis/cmd/aldis").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	for b.Loop() {
		h := startHistory(b, bin, d.dir)
		h.call("signal_list_conversations", columns{"limit": 100})
		ready := h.peak()
		for range 3 {
			h.call("signal_get_messages", columns{"conversationId": largest, "limit": 200})
			for _, needle := range []string{signaldesktop.RareNeedle, cyrillic, signaldesktop.CommonNeedle} {
				h.call("signal_search_messages", columns{"query": needle})
				h.call("signal_search_messages", columns{"query": needle, "conversationId": largest, "limit": 200})
			}
		}
		b.ReportMetric(ready, "ready-MB")
		b.ReportMetric(h.peak(), "peak-MB")
		for range 3 {
			h.atOnce("signal_search_messages", columns{"query": signaldesktop.RareNeedle, "conversationId": largest}, maxViews)
			h.atOnce("signal_get_messages", columns{"conversationId": largest, "limit": 200}, maxViews)
		}
		b.ReportMetric(h.peak(), "four-at-once-MB")
		h.end()
	}
	b.ReportMetric(0, "ns/op")
}

// A historyProcess is aldis history over stdio.
type historyProcess struct {
	b   *testing.B
	cmd *exec.Cmd
	in  *json.Encoder
	out *bufio.Reader
	end func()
	ids int
}

func startHistory(b *testing.B, bin, dir string) *historyProcess {
	cmd := exec.Command(bin, "history")
	cmd.Env = []string{"HOME=" + b.TempDir(), "SIGNAL_MCP_DB=" + signaldesktop.Path(dir), "SIGNAL_MCP_KEY=" + signaldesktop.Key}
	cmd.Stderr = b.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	h := &historyProcess{b: b, cmd: cmd, in: json.NewEncoder(in), out: bufio.NewReader(out), end: func() {
		_ = in.Close()
		_ = cmd.Wait()
	}}
	h.request("initialize", columns{"protocolVersion": "2025-06-18", "capabilities": columns{}, "clientInfo": columns{"name": "bench", "version": "1"}})
	h.answer()
	h.send(columns{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return h
}

func (h *historyProcess) call(tool string, args columns) { h.atOnce(tool, args, 1) }

// atOnce makes the same call several times, before it waits for the answers.
func (h *historyProcess) atOnce(tool string, args columns, times int) {
	for range times {
		h.request("tools/call", columns{"name": tool, "arguments": args})
	}
	for range times {
		h.answer()
	}
}

func (h *historyProcess) request(method string, params columns) {
	h.ids++
	h.send(columns{"jsonrpc": "2.0", "id": h.ids, "method": method, "params": params})
}

func (h *historyProcess) answer() {
	if line, err := h.out.ReadString('\n'); err != nil || strings.Contains(line, `"error":`) || strings.Contains(line, `"isError":true`) {
		h.b.Fatalf("%.500s, error %v", line, err)
	}
}

func (h *historyProcess) send(msg columns) {
	if err := h.in.Encode(msg); err != nil {
		h.b.Fatal(err)
	}
}

// peak is the most resident memory until now, in MB.
func (h *historyProcess) peak() (mb float64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.cmd.Process.Pid))
	if err != nil {
		h.b.Skip("there is no /proc to read the memory of a process in: ", err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kB float64
	if _, err := fmt.Sscan(rest, &kB); err != nil {
		h.b.Fatal(err)
	}
	return kB / 1024
}
