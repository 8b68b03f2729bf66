package attach_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestEventsWaitUntilTheAgentIsReady(t *testing.T) {
	inBubble(t, func(a *agent) {
		a.hub.Event(5, "a", "early")
		a.asks(0, "initialize", `{"protocolVersion":"2025-11-25"}`)
		pass(10 * time.Second)
		a.one() // the answer
		if a.hub.Unacknowledged() != 1 {
			t.Error("acknowledged before it was written")
		}
		a.tells("notifications/initialized", "{}")
		if got := contents(a.heard()); !slices.Equal(got, []string{"early"}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestAnAnswerOfInboxIsAcknowledgedToo(t *testing.T) {
	inBubble(t, func(a *agent) {
		a.hub.Answer = func(req *jsonrpc.Request) *jsonrpc.Response {
			if req.Method != "tools/call" {
				return echo(req)
			}
			result, _ := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": `{"events":[{"meta":{"id":"a"}}]}`}}})
			return &jsonrpc.Response{ID: req.ID, Result: result}
		}
		a.begins()
		a.calls(1, "inbox")
		a.one()
		a.hub.Event(7, "a", "pushed as well")
		pass(3 * time.Second)
		if got := contents(a.heard()); len(got) > 0 {
			t.Errorf("got %q once more", got)
		}
		all := ""
		for _, r := range a.hub.Requests("notifications/aldis/handed") {
			all += string(r.Params)
		}
		if !strings.Contains(all, `"ids":["a"]`) || !strings.Contains(all, `"last":7`) {
			t.Errorf("acknowledged %s", all)
		}
	})
}

func TestEventsAreAcknowledgedASecondLater(t *testing.T) {
	inBubble(t, func(a *agent) {
		a.begins()
		a.hub.Event(5, "a", "one")
		a.hub.Event(0, "b", "of a full disk")
		a.hub.Event(9, "c", "two")
		a.hub.Verdict("abcde", "allow")
		pass(900 * time.Millisecond)
		if got := contents(a.heard()); !slices.Equal(got, []string{"one", "of a full disk", "two"}) {
			t.Errorf("got %q", got)
		}
		if n := len(a.hub.Requests("notifications/aldis/handed")); n != 0 {
			t.Error("acknowledged in less than a second")
		}
		pass(1200 * time.Millisecond)
		acks := a.hub.Requests("notifications/aldis/handed")
		if len(acks) != 1 {
			t.Fatalf("%d acknowledgements, want one", len(acks))
		}
		var p struct {
			Last uint64
			IDs  []string
		}
		if err := json.Unmarshal(acks[0].Params, &p); err != nil || p.Last != 9 || !slices.Equal(p.IDs, []string{"b", "abcde"}) {
			t.Errorf("acknowledged %s", acks[0].Params)
		}
		pass(time.Minute / 2)
		if n := len(a.hub.Requests("notifications/aldis/handed")); n != 1 {
			t.Errorf("acknowledged %d times", n)
		}
	})
}

func TestEventComesOnceHoweverOftenTheHubIsGone(t *testing.T) {
	inBubble(t, func(a *agent) {
		a.begins()
		var want []string
		for i := range 20 {
			want = append(want, fmt.Sprint("event ", i))
			a.hub.Event(uint64(10+i), fmt.Sprint("id", i), want[i])
			if i%3 == 0 { // before it can be acknowledged
				a.hub.Down()
				pass(300 * time.Millisecond)
				a.hub.Up()
			}
			pass(700 * time.Millisecond)
		}
		pass(10 * time.Second)
		if got := contents(a.heard()); !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
		if n := a.hub.Unacknowledged(); n != 0 {
			t.Errorf("%d events were not acknowledged", n)
		}
		if n := len(a.hub.Requests("initialize")); n != 1 {
			t.Errorf("%d sessions, want one", n)
		}
	})
}

// An agent that reads nothing keeps what comes on the stream, and the hub is not
// told that it has it.
func TestAgentThatReadsNothingMissesNothing(t *testing.T) {
	inBubble(t, func(a *agent) {
		a.begins()
		a.busy <- struct{}{}
		var want []string
		for i := range 50 {
			want = append(want, fmt.Sprint("event ", i))
			a.hub.Event(uint64(10+i), fmt.Sprint("id", i), want[i])
		}
		pass(10 * time.Minute) // longer than any stream may be silent
		if n := a.hub.Unacknowledged(); n < 45 {
			t.Errorf("%d events are not acknowledged, want nearly all", n)
		}
		a.hub.Down()
		a.hub.Up()
		pass(time.Minute)
		<-a.busy
		pass(20 * time.Second)
		if got := contents(a.heard()); !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
		if n := a.hub.Unacknowledged(); n != 0 {
			t.Errorf("%d events were not acknowledged", n)
		}
	})
}

func TestLostAcknowledgementIsRepeated(t *testing.T) {
	inBubble(t, func(a *agent) {
		lost := 0
		a.hub.Answer = func(req *jsonrpc.Request) *jsonrpc.Response {
			if req.Method == "notifications/aldis/handed" && lost < 2 {
				lost++
				return nil
			}
			return &jsonrpc.Response{ID: req.ID}
		}
		a.begins()
		a.hub.Event(0, "b", "of a full disk")
		pass(10 * time.Second)
		if a.hub.Unacknowledged() != 0 || lost != 2 {
			t.Errorf("not acknowledged, %d times lost", lost)
		}
	})
}

func TestForgottenSessionIsFollowedByAnother(t *testing.T) {
	inBubble(t, func(a *agent) {
		a.hub.Answer = echo
		a.begins()
		a.hub.Event(5, "a", "one")
		a.heard()
		a.hub.Forget()
		a.calls(1, "send")
		pass(5 * time.Second)
		a.hub.Event(6, "b", "two")
		said := a.heard()
		if got := contents(said); !slices.Equal(got, []string{"two"}) {
			t.Errorf("got %q", got)
		}
		if !slices.ContainsFunc(said, func(m message) bool { return m.Result.Of == "send 1" }) {
			t.Errorf("the call was not answered: %+v", said)
		}
		if n := len(a.hub.Requests("initialize")); n != 2 {
			t.Errorf("%d sessions, want 2", n)
		}
		pass(3 * time.Second)
		if n := a.hub.Unacknowledged(); n != 0 {
			t.Errorf("%d events were not acknowledged", n)
		}
	})
}

func TestToolsAreListedAgainAfterEachReconnect(t *testing.T) {
	inBubble(t, func(a *agent) {
		a.begins()
		for range 3 {
			a.hub.Down()
			pass(time.Minute)
			a.hub.Up()
			pass(20 * time.Second)
			if got := a.one(); got.Method != "notifications/tools/list_changed" {
				t.Errorf("said %+v", got)
			}
		}
	})
}

func TestSilentStreamIsOpenedAgain(t *testing.T) {
	inBubble(t, func(a *agent) {
		a.begins()
		pass(58 * time.Second)
		if n := a.hub.Opened(); n != 1 {
			t.Errorf("%d streams after 59 s", n)
		}
		pass(5 * time.Second)
		if n := a.hub.Opened(); n != 2 {
			t.Errorf("%d streams after a minute of silence, want 2", n)
		}
	})
}

func TestHubSaysWhenToComeAgain(t *testing.T) {
	inBubble(t, func(a *agent) {
		a.hub.Retry = 8 * time.Second
		a.begins()
		a.hub.Down()
		a.hub.Up()
		pass(5 * time.Second)
		if n := a.hub.Opened(); n != 1 {
			t.Errorf("%d streams before the time", n)
		}
		pass(6 * time.Second)
		if n := a.hub.Opened(); n != 2 {
			t.Errorf("%d streams, want 2", n)
		}
	})
}

func TestPermissionRequestIsToldOnceTheHubComes(t *testing.T) {
	inBubble(t, func(a *agent) {
		a.begins()
		a.hub.Down()
		pass(time.Second)
		for i := range 20 {
			a.tells("notifications/claude/channel/permission_request", fmt.Sprintf(`{"request_id":"abcd%c"}`, 'a'+i))
		}
		a.tells("notifications/progress", `{}`) // says something of now
		pass(8 * time.Minute)
		a.hub.Up()
		pass(20 * time.Second)
		got := a.hub.Requests("notifications/claude/channel/permission_request", "notifications/progress")
		if len(got) < 16 || len(got) > 17 { // one was under way
			t.Fatalf("%d came, want the first 16", len(got))
		}
		for i, r := range got {
			if want := fmt.Sprintf("abcd%c", 'a'+i); !strings.Contains(string(r.Params), want) {
				t.Errorf("%s came, want %s", r.Params, want)
			}
		}
	})
}

func TestEndIsToldTheHub(t *testing.T) {
	inBubble(t, func(a *agent) {
		a.begins()
		a.hub.Event(5, "a", "a second old")
		pass(1050 * time.Millisecond)
		a.hub.Event(6, "b", "just written")
		a.heard()
		if err := a.leave(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if !a.hub.Deleted() || a.hub.Unacknowledged() != 1 {
			t.Errorf("deleted %v, %d events not acknowledged; want true, 1", a.hub.Deleted(), a.hub.Unacknowledged())
		}
	})
}
