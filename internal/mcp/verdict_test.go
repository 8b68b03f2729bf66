package mcp_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
	"aldis/internal/hubtest"
)

// A ruling is a verdict that a test has given, and what became of it.
type ruling struct {
	mu    sync.Mutex
	dones []bool
}

func (r *ruling) done(handed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dones = append(r.dones, handed)
}

// rule gives a verdict on the request of c, which waits for nothing.
func (h *testHub) rule(c *hubtest.Client, request string, allow bool) *ruling {
	h.t.Helper()
	sv, err := h.store.Session(h.t.Context(), hub.SessionID(c.Session))
	if err != nil {
		h.t.Fatal(err)
	}
	return h.ruleOn(sv, request, allow)
}

func (h *testHub) ruleOn(sv hub.SavedSession, request string, allow bool) *ruling {
	r := &ruling{}
	h.table.Decide(hub.Verdict{
		Session: sv.ID, Begun: sv.Begun, Agent: sv.Agent, Subject: sv.Subject, Request: request, Allow: allow,
		Done: r.done,
	})
	return r
}

func (r *ruling) told() []bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.dones)
}

// want fails the test unless Done has heard these.
func (r *ruling) want(t *testing.T, when string, dones ...bool) {
	t.Helper()
	if got := r.told(); !slices.Equal(got, dones) {
		t.Errorf("%s: Done was told %v, want %v", when, got, dones)
	}
}

// verdictOf is how a verdict reads on the wire.
func verdictOf(request, behavior string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/claude/channel/permission","params":{"request_id":%q,"behavior":%q}}`, request, behavior)
}

// wantVerdicts fails the test unless exactly these lines have come on s since
// the last look, none of them with an id.
func wantVerdicts(t *testing.T, who string, s *hubtest.Stream, want ...string) {
	t.Helper()
	var got []string
	for {
		ev, ok := s.Next(0)
		if !ok {
			break
		}
		if ev.Data == "" {
			continue
		}
		got = append(got, ev.Data)
		if ev.ID != "" {
			t.Errorf("%s: a verdict came with the id %s", who, ev.ID)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", who, d)
	}
}

func TestVerdictGoesToTheSessionThatAsked(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		first, second := h.mailbox("alice"), h.mailbox("alice")
		a, b := first.Open(""), second.Open("")
		pass(0)
		one := h.rule(first, "abcde", true)
		two := h.rule(second, "fghij", false)
		pass(500 * time.Millisecond)
		wantVerdicts(t, "the first", a, verdictOf("abcde", "allow"))
		wantVerdicts(t, "the second", b, verdictOf("fghij", "deny"))
		one.want(t, "before its stream has lasted a second")
		pass(time.Second)
		one.want(t, "after that", true)
		two.want(t, "after that", true)
		a.Close()
		pass(0)
		s := first.Open("")
		pass(2 * time.Second)
		wantVerdicts(t, "the first, once it was proved", s)
		one.want(t, "at the end", true)
	})
}

// On a real socket the far end's TCP has to acknowledge it too.
func TestVerdictIsProvedOnARealSocket(t *testing.T) {
	t.Parallel()
	h := startHub(t, setup{})
	reads, stalls := h.mailbox("alice"), h.mailbox("bob")
	s := reads.Open("")
	stalls.Stall()
	for range 200 {
		h.script("bob", strings.Repeat("x", 30<<10))
	}
	one, two := h.rule(reads, "abcde", true), h.rule(stalls, "fghij", true)
	for {
		if ev, ok := s.Next(10 * time.Second); !ok || ev.Data == verdictOf("abcde", "allow") {
			break
		}
	}
	eventually(t, func() error { return want("Done", one.told(), true) })
	two.want(t, "while nothing more is taken")
}

// Whatever a session lacks, what is decided for it waits for its next stream.
func TestVerdictWaitsForAStream(t *testing.T) {
	for _, tt := range []struct {
		state string
		reach func(c *hubtest.Client)
	}{
		{"new", func(*hubtest.Client) {}},
		{"pull", func(c *hubtest.Client) { c.Tool("inbox", map[string]any{}) }},
		{"away", func(c *hubtest.Client) {
			s := c.Open("")
			pass(0)
			s.Close()
			pass(0)
		}},
		{"deaf", func(c *hubtest.Client) {
			s := c.Open("")
			pass(0)
			s.Close()
			pass(16 * time.Second)
			c.Tool("inbox", map[string]any{})
		}},
	} {
		t.Run(tt.state, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *testHub) {
				c := h.mailbox("alice")
				tt.reach(c)
				if got := h.states("alice"); !slices.Equal(got, []string{tt.state}) {
					t.Fatalf("the session is %v", got)
				}
				r := h.rule(c, "abcde", true)
				pass(5 * time.Second)
				r.want(t, "without a stream")
				s := c.Open("")
				pass(2 * time.Second)
				wantVerdicts(t, "alice", s, verdictOf("abcde", "allow"))
				r.want(t, "with one", true)
			})
		})
	}
}

func TestVerdictThatNoStreamProvedIsWrittenAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		last := ""
		var r *ruling
		for range 3 {
			s := c.Open(last)
			pass(0)
			if r == nil {
				r = h.rule(c, "abcde", true)
			}
			pass(900 * time.Millisecond)
			last = s.LastID() // says nothing of what has no id
			wantVerdicts(t, "alice", s, verdictOf("abcde", "allow"))
			s.Close()
			pass(0)
		}
		r.want(t, "without a proof")
		c.Open(last)
		pass(2 * time.Second)
		r.want(t, "with one", true)
	})
}

func TestVerdictOfASessionThatIsGone(t *testing.T) {
	for _, tt := range []struct {
		name  string
		later int // sessions opened after it
		to    int // the later one that is told; -1: none
	}{
		{"one was opened after it", 1, 0},
		{"none was", 0, -1},
		{"two were", 2, -1},
	} {
		for _, waits := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, the verdict waits: %v", tt.name, waits), func(t *testing.T) {
				inBubble(t, func(t *testing.T, h *testHub) {
					h.mailbox("alice").Open("") // it was there before
					h.mailbox("bob").Open("")
					pass(time.Second)
					c := h.mailbox("alice")
					sv, err := h.store.Session(t.Context(), hub.SessionID(c.Session))
					if err != nil {
						t.Fatal(err)
					}
					pass(time.Second)
					var streams []*hubtest.Stream
					for range tt.later {
						streams = append(streams, h.mailbox("alice").Open(""))
					}
					pass(0)
					var r *ruling
					if waits {
						r = h.ruleOn(sv, "abcde", true)
					}
					c.Do(t.Context(), "DELETE", "")
					if !waits {
						r = h.ruleOn(sv, "abcde", true)
					}
					pass(2 * time.Second)
					r.want(t, "in the end", tt.to >= 0)
					for i, s := range streams {
						if i == tt.to {
							wantVerdicts(t, "the successor", s, verdictOf("abcde", "allow"))
							continue
						}
						wantVerdicts(t, fmt.Sprint("later session ", i), s)
					}
				})
			})
		}
	}
}

// The subject and the agent of a successor are those of the session that asked.
func TestVerdictIsForNoOtherSubjectOrAgent(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		sv, err := h.store.Session(t.Context(), hub.SessionID(c.Session))
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		other := h.client()
		other.Token = aliceToken
		others := []*hubtest.Stream{other.Connect().Open(""), h.mailbox("bob").Open(""), h.client().Connect().Open("")}
		pass(0)
		c.Do(t.Context(), "DELETE", "")
		r := h.ruleOn(sv, "abcde", true)
		pass(2 * time.Second)
		r.want(t, "with sessions of others alone", false)
		for i, s := range others {
			wantVerdicts(t, fmt.Sprint("another's session ", i), s)
		}
	})
}

func TestVerdictOfASessionThatFadesAway(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		s := c.Open("")
		pass(0)
		s.Close()
		pass(0)
		r := h.rule(c, "abcde", true)
		pass(14 * time.Second)
		r.want(t, "while it may come back")
		pass(2 * time.Second)
		r.want(t, "when it has not", false)

		c = h.mailbox("alice")
		r = h.rule(c, "abcde", true)
		pass(59 * time.Minute)
		r.want(t, "while it is remembered")
		pass(2 * time.Minute)
		r.want(t, "when it never came", false)
	})
}

func TestSlowSessionKeepsItsVerdicts(t *testing.T) {
	inBubble(t, func(t *testing.T, h *testHub) {
		c := h.mailbox("alice")
		c.Stall()
		pass(0)
		r := h.rule(c, "abcde", true)
		for range 200 { // past the bound of its queue
			h.script("alice", strings.Repeat("x", 30<<10))
		}
		pass(time.Second)
		if got := h.states("alice"); !slices.Equal(got, []string{"away"}) {
			t.Fatalf("the slow session is %v", got)
		}
		s := c.Open("")
		pass(2 * time.Second)
		found := 0
		for {
			ev, ok := s.Next(0)
			if !ok {
				break
			}
			if ev.Data == verdictOf("abcde", "allow") {
				found++
			}
		}
		if found != 1 {
			t.Errorf("the verdict came %d times, want once", found)
		}
		r.want(t, "in the end", true)
	})
}

func TestVerdictAfterARestart(t *testing.T) {
	restarting(t, func(t *testing.T, h *testHub, again func(time.Duration) *testHub) {
		c := h.mailbox("alice")
		c.Open("")
		pass(time.Second)
		h = again(time.Second)
		c.Dial = h.dial
		r := h.rule(c, "abcde", false)
		pass(time.Second)
		r.want(t, "while she is away")
		s := c.Open("")
		pass(2 * time.Second)
		wantVerdicts(t, "alice", s, verdictOf("abcde", "deny"))
		r.want(t, "when she has come back", true)
	})
}

func TestVerdictOverStdio(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, stdin := io.Pipe()
		var out lines
		h := startStdio(t, in, &out)
		pass(0)
		// Its session is the only one that was opened later.
		r := h.ruleOn(hub.SavedSession{ID: "another", Agent: "channel", Subject: "main"}, "abcde", true)
		say := func(line string) {
			if _, err := io.WriteString(stdin, line+"\n"); err != nil {
				t.Errorf("standard input: %v", err)
			}
			pass(0)
		}
		say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
		pass(2 * time.Second)
		r.want(t, "before the client is ready")
		say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		pass(2 * time.Second)
		r.want(t, "after that", true)
		if got := out.of("notifications/claude/channel/permission"); len(got) != 1 {
			t.Errorf("verdicts %v, want one", got)
		}
		_ = stdin.Close()
	})
}
