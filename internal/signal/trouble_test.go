package signal

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
	"aldis/internal/hubtest"
)

// TestDaemonStopsReading: a send that it has not read is not sent, and the
// connection is given up.
func TestDaemonStopsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var theirs net.Conn
		r.c.dial = func(context.Context) (net.Conn, error) {
			ours, other := net.Pipe()
			theirs = other
			go func() {
				lines := bufio.NewReader(other)
				for range 2 { // version and listContacts
					if _, err := lines.ReadString('\n'); err != nil {
						return
					}
					_, _ = io.WriteString(other, `{"jsonrpc":"2.0","result":{"version":"0.13.19"},"id":1}`+"\n")
				}
			}()
			return ours, nil
		}
		r.run()
		synctest.Wait()
		first := make(chan string, 1)
		go func() { first <- outcomeText(r.say(bobNumber, "one")) }()
		synctest.Wait() // it is being written
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		sent, err := r.c.Send(ctx, hub.Message{Kind: hub.Text, Text: "two", Ref: ref(bobNumber, "")})
		if hub.KindOf(err) != hub.Unavailable || sent.Unknown {
			t.Errorf("behind it: %+v, %v", sent, err)
		}
		time.Sleep(writeStall)
		synctest.Wait()
		if got := <-first; got != "unknown" {
			t.Errorf("half written: %s", got)
		}
		if s := r.c.Report(); s.State != "down" {
			t.Errorf("state %q", s.State)
		}
		r.stop()
		theirs.Close()
	})
}

// TestCallerGivesUp: that the caller is gone does not unsend a message.
func TestCallerGivesUp(t *testing.T) {
	inBubble(t, func(r rig) {
		r.d.Answer("send", func(hubtest.DaemonRequest) hubtest.DaemonAnswer {
			return hubtest.DaemonAnswer{Error: hubtest.DaemonSendError(-1, 78, hubtest.DaemonResult(bob, "NETWORK_FAILURE")), Delay: 5 * time.Second}
		})
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		sent, err := r.c.Send(ctx, hub.Message{ID: "m1", Kind: hub.Text, Text: "x", Ref: ref(bobNumber, "")})
		if err != nil || !sent.Unknown {
			t.Errorf("sent %+v, %v", sent, err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := r.inbox.lates(); !slices.Equal(got, []late{{"m1", ref(bobNumber, "78")}}) {
			t.Errorf("late %v", got)
		}
	})
}

// TestTooManyOpen: a daemon that answers nothing does not fill the memory.
func TestTooManyOpen(t *testing.T) {
	inBubble(t, func(r rig) {
		r.d.Answer("send", func(hubtest.DaemonRequest) hubtest.DaemonAnswer { return hubtest.DaemonAnswer{Drop: true} })
		unknown := make(chan bool)
		for range maxOpen {
			go func() {
				sent, err := r.say(bobNumber, "x")
				unknown <- err == nil && sent.Unknown
			}()
		}
		for range maxOpen {
			if !<-unknown {
				t.Error("a send without an answer is not unknown")
			}
		}
		if _, err := r.say(bobNumber, "x"); hub.KindOf(err) != hub.Unavailable {
			t.Errorf("one more: %v", err)
		}
	})
}

// TestSessionThroughTheDaemon: the captured run, sent twice over a connection.
// What is no message is counted by reason.
func TestSessionThroughTheDaemon(t *testing.T) {
	raw, err := os.ReadFile("testdata/captured-0.13.19/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	inBubble(t, func(r rig) {
		r.c.AttachmentsDir = t.TempDir()
		r.d.Emit(string(raw))
		synctest.Wait()
		first := len(r.inbox.got)
		r.d.Emit(string(raw))
		synctest.Wait()
		if len(r.inbox.got) != 2*first || r.c.Report().Skipped != 0 {
			t.Fatalf("%d messages, then %d", first, len(r.inbox.got)-first)
		}
		for i, m := range r.inbox.got[first:] {
			if m.Dedup != r.inbox.got[i].Dedup || m.ID == r.inbox.got[i].ID {
				t.Errorf("message %d: %q and %q", i, m.Dedup, r.inbox.got[i].Dedup)
			}
		}
		want := map[string]uint64{"call": 16, "no_text": 32, "private": 12, "receipt": 12, "story": 18, "sync": 38, "trouble": 6, "typing": 10, "view_once": 4}
		if diff := cmp.Diff(want, r.c.Dropped()); diff != "" {
			t.Errorf("dropped: -want +got\n%s", diff)
		}
	})
}

// TestLogsArePrivate: above debug the log holds no name, no word, no token.
func TestLogsArePrivate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := newRig(t)
		r.c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))
		r.run()
		synctest.Wait()
		r.d.Receive(r.d.Text(bob, 1, "private words", 0))
		r.d.Emit(`{"method":"receive","params":{"account":5,"envelope":"private words from +15555550101"}}` + "\n")
		r.answerWith("send", "send_bad_number.json")
		_, _ = r.say(bobNumber, "private words")
		r.answerWith("send", "proof_required.json")
		_, _ = r.say(bobNumber, "private words")
		r.d.Cut()
		time.Sleep(time.Minute)
		r.stop()
		r.d.Close()
		for _, secret := range []string{"private words", bobNumber, bobUUID, aliceNumber, "Bob", "0123-challenge-token"} {
			if strings.Contains(log.String(), secret) {
				t.Errorf("the log holds %q:\n%s", secret, log.String())
			}
		}
		wantIn(t, log.String(), "signal-cli connected", "signal-cli not connected", "sending paused")
		if n := strings.Count(log.String(), "\n"); n != 4 {
			t.Errorf("%d lines for four changes of state:\n%s", n, log.String())
		}
	})
}
