package signal

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"aldis/internal/hub"
	"aldis/internal/hubtest"
)

const (
	aliceNumber = "+15555550100"
	aliceUUID   = "a11ce000-0000-4000-8000-000000000100"
	bobNumber   = "+15555550101"
	bobUUID     = "b0b00000-0000-4000-8000-000000000101"
	opsGroup    = "zFNrL+gz/+LssRB/OiIbwjblXx63iddHEZiepvunCiM="
)

var bob = hubtest.DaemonContact{Number: bobNumber, UUID: bobUUID, Name: "Bob"}

// An inbox is a receiver that keeps what it hears.
type inbox struct {
	mu    sync.Mutex
	got   []hub.Message
	late  []late
	block chan struct{} // if not nil, Receive waits for it
}

func (b *inbox) Receive(_ context.Context, m hub.Message) (hub.Receipt, error) {
	if b.block != nil {
		<-b.block
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, m)
	return hub.Receipt{ID: m.ID}, nil
}

func (b *inbox) Late(_ context.Context, id hub.MessageID, ref hub.Ref) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.late = append(b.late, late{id, ref})
}

func (b *inbox) texts() (texts []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.got {
		texts = append(texts, m.Text)
	}
	return texts
}

func (b *inbox) lates() []late {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.late)
}

// A rig is a client that runs in a synctest bubble, with its daemon.
type rig struct {
	*testing.T
	d     *hubtest.Daemon
	c     *Client
	inbox *inbox
	stop  func()
}

// inBubble runs f with a client that is connected to a daemon. Time stands
// still but when everybody waits.
func inBubble(t *testing.T, f func(r rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.run()
		synctest.Wait()
		f(r)
		r.stop()
		r.d.Close()
	})
}

func newRig(t *testing.T) rig {
	d := hubtest.PipeDaemon(t)
	d.Groups = []hubtest.DaemonGroup{{ID: opsGroup, Name: "Ops team", Members: []hubtest.DaemonContact{bob}}}
	c := &Client{
		Address: "127.0.0.1:7583", Account: aliceNumber, Operator: bobNumber, Log: slog.New(slog.DiscardHandler),
		dial: func(context.Context) (net.Conn, error) { return d.Dial(), nil },
	}
	return rig{T: t, d: d, c: c, inbox: &inbox{}, stop: func() {}}
}

// run starts the client; stop ends it, and waits.
func (r *rig) run() {
	ctx, cancel := context.WithCancel(r.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := r.c.Run(ctx, r.inbox); err != nil {
			r.Errorf("Run: %v", err)
		}
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
}

// say sends a text and returns what became of it.
func (r rig) say(chat hub.ChatID, text string) (hub.Sent, error) {
	return r.c.Send(r.Context(), hub.Message{ID: "m1", Kind: hub.Text, Ref: hub.Ref{Platform: ID, Chat: chat}, Text: text})
}

func ref(chat hub.ChatID, key string) hub.Ref { return hub.Ref{Platform: ID, Chat: chat, Key: key} }

func TestConnectsAndReports(t *testing.T) {
	inBubble(t, func(r rig) {
		report := r.c.Report()
		if report.State != "connected" || report.Version != "0.13.19" || report.Address != "127.0.0.1:7583" || !report.Last.IsZero() {
			t.Errorf("report %+v", report)
		}
		r.d.Receive(r.d.Text(bob, 1, "hello", 0))
		synctest.Wait()
		if got := r.inbox.texts(); !slices.Equal(got, []string{"hello"}) {
			t.Errorf("received %q", got)
		}
		if r.c.Report().Last.IsZero() {
			t.Error("the report does not say when the last notice came")
		}
	})
}

// A connection that stands says nothing of the account behind it.
func TestReportsWhetherOurAccountIsThere(t *testing.T) {
	for _, tt := range []struct {
		name     string
		accounts []string // nil: the daemon runs for one account, and has no list
		count    int
		missing  bool
	}{
		{"ours alone", []string{aliceNumber}, 1, false},
		{"ours among others", []string{"+15555550777", aliceNumber}, 2, false},
		{"others alone", []string{"+15555550777", "+15555550888"}, 2, true},
		{"none", []string{}, 0, true},
		{"it does not say", nil, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				if r.d.Accounts = tt.accounts; tt.accounts == nil {
					r.d.Answer("listAccounts", func(hubtest.DaemonRequest) hubtest.DaemonAnswer {
						return hubtest.DaemonAnswer{Error: hubtest.DaemonError(-32601, "Method not implemented", nil)}
					})
				}
				r.run()
				synctest.Wait()
				if got := r.c.Report(); got.Accounts != tt.count || got.Missing != tt.missing {
					t.Errorf("%d accounts, ours missing: %v", got.Accounts, got.Missing)
				}
				r.stop()
				r.d.Close()
			})
		})
	}
}

func TestNotConnected(t *testing.T) {
	c := &Client{Account: aliceNumber}
	_, err := c.Send(t.Context(), hub.Message{Kind: hub.Text, Text: "x", Ref: ref(bobNumber, "")})
	if hub.KindOf(err) != hub.Unavailable {
		t.Fatalf("error %v", err)
	}
	wantIn(t, err.Error(), "127.0.0.1:7583", "signal-cli daemon --tcp 127.0.0.1:7583")
}

func TestNoAccount(t *testing.T) {
	if err := new(Client).Run(t.Context(), &inbox{}); hub.KindOf(err) != hub.Invalid {
		t.Errorf("error %v", err)
	}
}

// TestReconnects: after a cut the client comes back within 3 s, and what the
// daemon then says arrives.
func TestReconnects(t *testing.T) {
	inBubble(t, func(r rig) {
		r.d.Cut()
		synctest.Wait()
		if s := r.c.Report(); s.State != "down" {
			t.Errorf("state %q after the cut", s.State)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if s := r.c.Report(); s.State != "connected" || s.Detail != "" {
			t.Errorf("report %+v", s)
		}
		r.d.Receive(r.d.Text(bob, 1, "still there?", 0))
		synctest.Wait()
		if got := r.inbox.texts(); !slices.Equal(got, []string{"still there?"}) {
			t.Errorf("received %q", got)
		}
	})
}

// TestBacksOff: a daemon that does not answer is not asked more often than
// every 10 s after a while, and one connection is open at a time.
func TestBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.d.Answer("version", func(hubtest.DaemonRequest) hubtest.DaemonAnswer { return hubtest.DaemonAnswer{Cut: true} })
		r.run()
		time.Sleep(10 * time.Minute)
		if n := r.d.Accepted(); n < 20 || n > 64 {
			t.Errorf("%d connections in 10 minutes", n)
		}
		if s := r.c.Report(); s.State != "down" || s.Detail == "" {
			t.Errorf("report %+v", s)
		}
		r.d.Answer("version", nil)
		time.Sleep(31 * time.Second)
		if s := r.c.Report(); s.State != "connected" {
			t.Errorf("report %+v after it answers again", s)
		}
		r.stop()
		r.d.Close()
	})
}

// TestReadyMeansAnswered: an open port is no daemon.
func TestReadyMeansAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.d.Answer("version", func(hubtest.DaemonRequest) hubtest.DaemonAnswer { return hubtest.DaemonAnswer{Drop: true} })
		r.run()
		synctest.Wait()
		if s := r.c.Report(); s.State != "connecting" {
			t.Errorf("state %q before version is answered", s.State)
		}
		if _, err := r.say(bobNumber, "x"); hub.KindOf(err) != hub.Unavailable {
			t.Errorf("send before version is answered: %v", err)
		}
		time.Sleep(answerTimeout)
		synctest.Wait()
		if s := r.c.Report(); s.State != "down" {
			t.Errorf("state %q after %v", s.State, answerTimeout)
		}
		r.stop()
		r.d.Close()
	})
}

// TestPings: silence is asked about; a daemon that hangs is left after 40 s.
func TestPings(t *testing.T) {
	inBubble(t, func(r rig) {
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if n := len(r.d.Requests("version")); n < 9 || n > 12 || r.d.Accepted() != 1 {
			t.Errorf("%d pings, %d connections in 5 minutes", n-1, r.d.Accepted())
		}
		r.d.Answer("version", func(hubtest.DaemonRequest) hubtest.DaemonAnswer { return hubtest.DaemonAnswer{Drop: true} })
		time.Sleep(idleTime + answerTimeout + time.Second)
		synctest.Wait()
		if s := r.c.Report(); s.State != "down" {
			t.Errorf("state %q although version is not answered", s.State)
		}
	})
}

// TestNoticesAreSignsOfLife: a daemon that is slow to answer but brings
// messages is not left.
func TestNoticesAreSignsOfLife(t *testing.T) {
	inBubble(t, func(r rig) {
		r.d.Answer("version", func(hubtest.DaemonRequest) hubtest.DaemonAnswer { return hubtest.DaemonAnswer{Drop: true} })
		for i := range 20 {
			time.Sleep(9 * time.Second)
			r.d.Receive(r.d.Text(bob, int64(i+1), "x", 0))
		}
		synctest.Wait()
		if n := r.d.Accepted(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

// TestContactsMayStayUnanswered: they are asked for in the background.
func TestContactsMayStayUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.d.Answer("listContacts", func(hubtest.DaemonRequest) hubtest.DaemonAnswer { return hubtest.DaemonAnswer{Drop: true} })
		r.run()
		synctest.Wait()
		if _, err := r.say(bobNumber, "x"); err != nil {
			t.Error(err)
		}
		r.d.Receive(r.d.Text(bob, 1, "y", 0))
		time.Sleep(2 * time.Minute)
		if got := r.inbox.texts(); len(got) != 1 || r.d.Accepted() != 1 {
			t.Errorf("received %q over %d connections", got, r.d.Accepted())
		}
		r.stop()
		r.d.Close()
	})
}

// TestSlowRecord: while nothing can be taken in, what the daemon brings waits
// in the queue, sends are answered, and at the end everything is taken in, in
// order.
func TestSlowRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.inbox.block = make(chan struct{})
		r.run()
		synctest.Wait()
		for i := range 1000 {
			r.d.Receive(r.d.Text(bob, int64(i+1), string(rune('a'+i%26)), 0))
		}
		if _, err := r.say(bobNumber, "x"); err != nil {
			t.Error(err)
		}
		close(r.inbox.block)
		r.stop()
		got := r.inbox.got
		if len(got) != 1000 {
			t.Fatalf("%d of 1000 taken in", len(got))
		}
		for i, m := range got {
			if m.Text != string(rune('a'+i%26)) {
				t.Fatalf("message %d is %q", i, m.Text)
			}
		}
		r.d.Close()
	})
}

// TestFullQueue: past its bound the socket waits, not the memory, and the
// connection stays.
func TestFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.inbox.block = make(chan struct{})
		r.run()
		synctest.Wait()
		const n = maxWaiting + 500
		go func() {
			for i := range n {
				r.d.Receive(r.d.Text(bob, int64(i+1), "x", 0))
			}
		}()
		time.Sleep(5 * time.Minute)
		close(r.inbox.block)
		time.Sleep(time.Second)
		if got := len(r.inbox.texts()); got != n || r.d.Accepted() != 1 {
			t.Errorf("%d of %d taken in over %d connections", got, n, r.d.Accepted())
		}
		r.stop()
		r.d.Close()
	})
}

// TestAccountByUUID: notices name the account by number alone, which is
// learned before the first is taken in.
func TestAccountByUUID(t *testing.T) {
	for name, prepare := range map[string]func(d *hubtest.Daemon){
		"one account": func(*hubtest.Daemon) {},
		"several accounts": func(d *hubtest.Daemon) {
			d.Accounts = []string{aliceNumber, bobNumber}
		},
		"a daemon for one account": func(d *hubtest.Daemon) {
			d.Answer("listAccounts", func(hubtest.DaemonRequest) hubtest.DaemonAnswer {
				return hubtest.DaemonAnswer{Error: hubtest.DaemonError(-32601, "Method not implemented", nil)}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.c.Account = aliceUUID
				prepare(r.d)
				r.run()
				synctest.Wait()
				r.d.Receive(r.d.Text(bob, 1, "hello", 42))
				synctest.Wait()
				if len(r.inbox.got) != 1 {
					t.Fatalf("dropped: %v", r.c.Dropped())
				}
				q := r.inbox.got[0].Quote
				if !q.Ours || q.From != aliceUUID || !slices.Equal(q.Aliases, []hub.SenderID{aliceNumber}) {
					t.Errorf("quote %+v", q)
				}
				if _, err := r.say(bobNumber, "x"); err != nil {
					t.Fatal(err)
				}
				if got := r.d.Requests("send")[0].Params["account"]; got != aliceNumber {
					t.Errorf("sent as %v, a daemon before 0.14.6 knows numbers alone", got)
				}
				r.stop()
				r.d.Close()
			})
		})
	}
}

// TestOperatorIsLookedUp: the operator's first message may carry a UUID alone.
func TestOperatorIsLookedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.d.Contacts = r.d.Contacts[:1]
		r.d.Answer("getUserStatus", func(q hubtest.DaemonRequest) hubtest.DaemonAnswer {
			return hubtest.DaemonAnswer{Result: []any{map[string]any{"recipient": bobNumber, "number": bobNumber, "uuid": bobUUID, "isRegistered": true}}}
		})
		r.run()
		synctest.Wait()
		r.d.Receive(r.d.Text(hubtest.DaemonContact{UUID: bobUUID}, 1, "hello", 0))
		synctest.Wait()
		if len(r.inbox.got) != 1 || r.inbox.got[0].From.ID != bobNumber {
			t.Errorf("got %+v", r.inbox.got)
		}
		r.stop()
		r.d.Close()
	})
}

func wantIn(t *testing.T, s string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(s, p) {
			t.Errorf("%q does not say %q", s, p)
		}
	}
}
