package attach

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestReadEvents(t *testing.T) {
	for _, tt := range []struct {
		name, stream string
		want         []event
	}{
		{"a number and data", "event: message\nid: 7\ndata: {}\n\n", []event{{id: 7, data: "{}"}}},
		{"the number is of one event alone", "id: 7\ndata: a\n\ndata: b\n\n", []event{{id: 7, data: "a"}, {data: "b"}}},
		{"what has not come whole", "data: a\n\ndata: b\n", []event{{data: "a"}}},
		{"a comment", ":\n\n", []event{{}}},
		{"several lines of data", "data: a\ndata: b\n\n", []event{{data: "a\nb"}}},
		{"no blank after the colon", "id:7\ndata:a\n\n", []event{{id: 7, data: "a"}}},
		{"lines of another system", "id: 7\r\ndata: a\r\n\r\n", []event{{id: 7, data: "a"}}},
		{"when to come again", "retry: 2000\n\n", []event{{retry: 2 * time.Second}}},
		{"numbers that are none", "id: x\nretry: soon\n\n", []event{{}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, collect(tt.stream), cmp.AllowUnexported(event{})); d != "" {
				t.Errorf("events (-want +got):\n%s", d)
			}
		})
	}
}

// However the stream is cut into lines, what has come is read the same when it is
// written again.
func FuzzReadEvents(f *testing.F) {
	f.Add("retry: 2000\nid: 7\nevent: message\ndata: {}\n\n:\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		once := collect(strings.ReplaceAll(stream, "\r", ""))
		var b strings.Builder
		for _, e := range once {
			fmt.Fprintf(&b, "retry: %d\nid: %d\ndata: %s\n\n", e.retry.Milliseconds(), e.id, strings.ReplaceAll(e.data, "\n", "\ndata: "))
		}
		if d := cmp.Diff(once, collect(b.String()), cmp.AllowUnexported(event{})); d != "" {
			t.Errorf("%q is read otherwise the second time:\n%s", stream, d)
		}
	})
}

func collect(stream string) (all []event) {
	_ = readEvents(strings.NewReader(stream), func(e event) error {
		all = append(all, e)
		return nil
	})
	return all
}

func FuzzKeyed(f *testing.F) {
	f.Add(`{"name":"send","arguments":{"text":"<b>","n":12345678901234567890},"_meta":{"progressToken":1.0}}`)
	f.Add(`{"name":"send","_meta":null}`)
	f.Fuzz(func(t *testing.T, params string) {
		id, _ := jsonrpc.MakeID("x")
		out, tool, err := keyed(&jsonrpc.Request{ID: id, Method: "tools/call", Params: json.RawMessage(params)})
		if err != nil {
			return
		}
		var before, after map[string]any
		if json.Unmarshal([]byte(params), &before) != nil {
			return // a number that is no float64
		}
		if err := json.Unmarshal(out.Params, &after); err != nil {
			t.Fatalf("%s became %s: %v", params, out.Params, err)
		}
		meta := after["_meta"].(map[string]any)
		key, _ := meta["aldis/key"].(string)
		if name, _ := after["name"].(string); len(key) < 20 || name != tool {
			t.Fatalf("%s became %s", params, out.Params)
		}
		delete(meta, "aldis/key")
		was, _ := before["_meta"].(map[string]any)
		delete(was, "aldis/key") // one of the agent's own is replaced
		if len(was) == 0 && len(meta) == 0 {
			delete(before, "_meta")
			delete(after, "_meta")
		}
		if d := cmp.Diff(before, after); d != "" {
			t.Errorf("%s became another call (-was +is):\n%s", params, d)
		}
	})
}

func TestMemoryForgetsTheOldest(t *testing.T) {
	m := memory{ids: make(map[string]bool)}
	for i := range seenMost + 100 {
		m.add(fmt.Sprint(i))
	}
	if len(m.ids) != seenMost || m.has("99") || !m.has("100") || !m.has(fmt.Sprint(seenMost+99)) {
		t.Errorf("%d ids; 99: %v, 100: %v", len(m.ids), m.has("99"), m.has("100"))
	}
}

func TestAcksAreBounded(t *testing.T) {
	var a acks
	begin := time.Now()
	for i := range acksMost + 5 {
		a.note(mark{at: begin, id: fmt.Sprint(i)})
	}
	a.note(mark{at: begin.Add(proofAfter / 2), seq: 7})
	h, news, ok := a.take(begin.Add(proofAfter))
	if !ok || h.Last != 0 || len(h.IDs) != acksMost || h.IDs[0] != "5" {
		t.Errorf("%d ids from %q, last %d, %v", len(h.IDs), h.IDs[:1], h.Last, ok)
	}
	a.heard(h, news)
	if h, _, ok := a.take(begin.Add(2 * proofAfter)); !ok || h.Last != 7 || len(h.IDs) != 0 {
		t.Errorf("then %+v, %v", h, ok)
	}
}

func TestSleepCutsTheStream(t *testing.T) {
	for _, tt := range []struct {
		name   string
		asleep time.Duration
		want   error
	}{
		{"awake", 0, nil},
		{"a late timer", 5 * time.Second, nil},
		{"asleep", time.Hour, errSlept},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancel(t.Context())
				stream, cut := context.WithCancelCause(ctx)
				u := newUplink(&Line{})
				begin := time.Now()
				u.cut = cut
				u.wall = func() time.Time {
					now := time.Now()
					if now.Sub(begin) > time.Minute {
						now = now.Add(tt.asleep)
					}
					return now
				}
				go u.watchClock(ctx)
				time.Sleep(2 * time.Minute)
				if got := context.Cause(stream); got != tt.want {
					t.Errorf("the stream was cut because of %v, want %v", got, tt.want)
				}
				end()
			})
		})
	}
}
