package test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hubtest"
)

// A client is one agent's end of a session.
type client interface {
	call(tool string, args map[string]any) string
	await(n int) []event
	got() []event
	disconnect()
}

func TestRouting(t *testing.T) {
	t.Parallel()
	tellRouting(t, func(h *hub, name string) client { return h.connect(name) })
}

// tellRouting is the story of seed reply-routing.md: two agents, and each
// reply reaches the one that it answers.
func tellRouting(t *testing.T, connect func(*hub, string) client) {
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d, "--account", operator, "--trusted-sender", bob, "--default-agent", "crush-signal")
	deploy := connect(h, "deploy-bot")
	crush := connect(h, "crush-signal")

	// Two names are known: what an agent sends starts with its own.
	sent := messageID(t, deploy.call("send", map[string]any{"text": "Deploy finished. Roll out?"}))
	request := awaitRequests(t, d, "send", 1)[0]
	if got, want := request.Params["message"], "deploy-bot: Deploy finished. Roll out?"; got != want {
		t.Errorf("the phone shows %q, want %q", got, want)
	}

	// A reply and a reaction go to the agent that they answer.
	receive(t, d, noteToSelf("sync_note_to_self_quote", sent, map[string]any{"quote.text": "deploy-bot: Deploy finished. Roll out?"}))
	reply := deploy.await(1)[0]
	wantEvent(t, "reply", reply, "go ahead", map[string]string{
		"route_status": "routed", "routed_agent": "",
		"in_reply_to_timestamp": sent, "in_reply_to_author": operator, "in_reply_to_text": "Deploy finished. Roll out?",
		"platform": "signal", "chat_id": operator, "sender": operator, "message_id": "1796055426040", "timestamp": "1796055426040",
	})
	receive(t, d, noteToSelf("sync_note_to_self_reaction", sent, nil))
	reaction := deploy.await(2)[1]
	wantEvent(t, "reaction", reaction, fmt.Sprintf("[reaction: ✅ to message %s from %s]", sent, operator), map[string]string{
		"route_status": "routed", "reaction": "✅", "reaction_target_timestamp": sent, "reaction_target_author": operator,
		"in_reply_to_timestamp": sent, "in_reply_to_text": "Deploy finished. Roll out?",
	})

	// What answers nothing goes to the default agent, and so does what answers
	// an agent that has gone. It is the default agent's first event: nothing
	// of the above came here.
	receive(t, d, capture("dm"))
	plain := crush.await(1)[0]
	wantEvent(t, "plain message", plain, "Can you check the build? 👩🏽‍💻", map[string]string{
		"route_status": "unrouted", "routed_agent": "", "in_reply_to_timestamp": "", "sender": bob, "sender_name": "Bob", "chat_id": bob,
	})
	// deploy-bot says what it has, or all of it would be decided again.
	deploy.call("inbox", map[string]any{"ack": []string{reply.Meta["id"], reaction.Meta["id"]}})
	deploy.disconnect()
	h.awaitPresence("deploy-bot", false)
	late := noteToSelf("sync_note_to_self_quote", sent, map[string]any{"quote.text": "", "timestamp": 1796055500000, "message": "still there?"})
	receive(t, d, late)
	fallback := crush.await(2)[1]
	wantEvent(t, "reply to an agent that is offline", fallback, "still there?", map[string]string{
		"route_status": "agent_offline", "routed_agent": "deploy-bot", "in_reply_to_text": "Deploy finished. Roll out?",
	})

	// One read receipt for the message of another, at its hand-over; Note to
	// Self and reactions have none.
	awaitRequests(t, d, "sendReceipt", 1)
	h.stop()
	receipts := d.Requests("sendReceipt")
	if len(receipts) != 1 {
		t.Fatalf("%d read receipts, want 1: %v", len(receipts), receipts)
	}
	want := map[string]any{"account": operator, "recipient": bob, "targetTimestamp": 1796055412657.0, "type": "read"}
	if diff := cmp.Diff(want, receipts[0].Params); diff != "" {
		t.Errorf("read receipt (-want +got):\n%s", diff)
	}
	if n := len(deploy.got()); n != 2 {
		t.Errorf("deploy-bot has %d events, want 2", n)
	}
	if n := len(crush.got()); n != 2 {
		t.Errorf("crush-signal has %d events, want 2", n)
	}
}

// TestReadReceipts has messages of every sort reach two sessions of one agent:
// each message is read once, and what is no message is not.
func TestReadReceipts(t *testing.T) {
	t.Parallel()
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d, "--trusted-sender", bob)
	one, two := h.connect("deploy-bot"), h.connect("deploy-bot")
	for _, name := range []string{"dm", "reaction", "quote", "edit", "reaction_remove", "sync_note_to_self", "remote_delete"} {
		receive(t, d, capture(name))
	}
	one.await(7)
	two.await(7)
	awaitRequests(t, d, "sendReceipt", 2)
	h.stop()
	var read []string
	for _, r := range d.Requests("sendReceipt") {
		read = append(read, fmt.Sprintf("%v %.0f", r.Params["recipient"], r.Params["targetTimestamp"]))
	}
	want := []string{bob + " " + messageKey("dm"), bob + " " + messageKey("quote")}
	if slices.Sort(read); !slices.Equal(read, want) {
		t.Errorf("read receipts %q, want %q", read, want)
	}
}

// messageKey is the timestamp of a captured message.
func messageKey(name string) string {
	return fmt.Sprint(dig(capture(name), "params", "envelope")["timestamp"])
}

// wantEvent checks what an event says, and some of its meta. An empty value
// means that the key is not there.
func wantEvent(t *testing.T, what string, e event, content string, meta map[string]string) {
	t.Helper()
	if e.Content != content {
		t.Errorf("%s: content %q, want %q", what, e.Content, content)
	}
	for _, k := range slices.Sorted(maps.Keys(meta)) {
		if got, ok := e.Meta[k]; got != meta[k] || ok != (meta[k] != "") {
			t.Errorf("%s: %s is %q, want %q", what, k, got, meta[k])
		}
	}
}

var messageIDs = regexp.MustCompile(`message_id (\d+)`)

// messageID finds the id of a sent message in a tool's answer.
func messageID(t *testing.T, answer string) string {
	t.Helper()
	m := messageIDs.FindStringSubmatch(answer)
	if m == nil {
		t.Fatalf("no message id in %q", answer)
	}
	return m[1]
}

// awaitRequests waits until the daemon had n requests for method.
func awaitRequests(t *testing.T, d *hubtest.Daemon, method string, n int) []hubtest.DaemonRequest {
	t.Helper()
	eventually(t, fmt.Sprintf("the daemon has %d requests for %s", n, method), func() bool { return len(d.Requests(method)) >= n })
	return d.Requests(method)
}

// captures are real lines of a daemon.
const captures = "../internal/signal/testdata/captured-0.13.19"

// capture returns a captured notice, which is a JSON value.
func capture(name string) (v map[string]any) {
	b, err := os.ReadFile(filepath.Join(captures, name+".json"))
	if err != nil {
		panic(err) // it is in the repository
	}
	decoder := json.NewDecoder(strings.NewReader(string(b)))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		panic(err)
	}
	return v
}

// noteToSelf returns a captured message of the operator to themselves, changed
// to answer our message with the timestamp quoted, and in what changes says.
func noteToSelf(name, quoted string, changes map[string]any) map[string]any {
	v := capture(name)
	sent := dig(v, "params", "envelope", "syncMessage", "sentMessage")
	if q, ok := sent["quote"].(map[string]any); ok {
		q["id"] = json.Number(quoted)
	}
	if r, ok := sent["reaction"].(map[string]any); ok {
		r["targetSentTimestamp"] = json.Number(quoted)
	}
	for k, to := range changes {
		if of, key, nested := strings.Cut(k, "."); nested {
			dig(sent, of)[key] = to
			continue
		}
		sent[k] = to
		if k == "timestamp" {
			dig(v, "params", "envelope")["timestamp"] = to
		}
	}
	return v
}

func dig(v map[string]any, path ...string) map[string]any {
	for _, k := range path {
		v = v[k].(map[string]any)
	}
	return v
}

// receive has the daemon say a captured notice.
func receive(t *testing.T, d *hubtest.Daemon, notice map[string]any) {
	t.Helper()
	b, err := json.Marshal(notice)
	if err != nil {
		t.Fatal(err)
	}
	d.Emit(string(b) + "\n")
}
