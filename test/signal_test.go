package test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hubtest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestReplay has the daemon say the captured session twice: what is admitted
// reaches the default agent once, and as the golden file has it, and nothing
// else reaches anybody.
func TestReplay(t *testing.T) {
	t.Parallel()
	session, err := os.ReadFile(filepath.Join(captures, "session.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		golden string
		args   []string
	}{
		// Alice writes to herself; Bob is a stranger.
		{"replay-note-to-self", []string{"--operator", operator}},
		// Bob is the operator, and writes to Alice's account.
		{"replay-operator-bob", []string{"--operator", bob, "--account", operator, "--groups", "all"}},
	} {
		t.Run(tt.golden, func(t *testing.T) {
			t.Parallel()
			d := hubtest.NewDaemon(t)
			h := startHub(t, append(tt.args, "--signal-cli", d.Address(), "--default-agent", "crush-signal", "--attachments-dir", t.TempDir())...)
			h.awaitReady()
			a := h.connect("crush-signal")
			d.Emit(string(session))
			d.Emit(string(session))
			end := "the end of the replay"
			if tt.golden == "replay-note-to-self" {
				receive(t, d, noteToSelf("sync_note_to_self", "", map[string]any{"message": end, "timestamp": 1796070000000}))
			} else {
				d.Receive(d.Text(d.Contacts[1], 1796070000000, end, 0))
			}
			eventually(t, "all has come", func() bool { return slices.Contains(contents(a.got()), end) })
			wantGolden(t, tt.golden, transcript(a.got()))
			wantQuiet(t, h, session)
		})
	}
}

// transcript shows events a line each, without what differs from run to run.
func transcript(events []event) string {
	var b strings.Builder
	for _, e := range events {
		content := e.Content
		if len(content) > 200 {
			content = fmt.Sprintf("%s… (%d bytes)", content[:20], len(content))
		}
		fmt.Fprintf(&b, "%q", content)
		for _, k := range slices.Sorted(maps.Keys(e.Meta)) {
			if k != "id" && k != "ts" {
				fmt.Fprintf(&b, " %s=%q", k, e.Meta[k])
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func wantGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// wantQuiet checks that the log, which is at info, has nothing of what was
// said or of who said it.
func wantQuiet(t *testing.T, h *hub, session []byte) {
	t.Helper()
	log := h.log.String()
	private := []string{"+1555555", "b0b00000", "a11ce000", "Bob", "Ops team", "Deploy finished", "private words"}
	for line := range strings.Lines(string(session)) {
		var v struct {
			Params struct {
				Envelope struct {
					DataMessage struct{ Message string }
				}
			}
		}
		if json.Unmarshal([]byte(line), &v) == nil && len(v.Params.Envelope.DataMessage.Message) > 5 {
			private = append(private, v.Params.Envelope.DataMessage.Message)
		}
	}
	for _, s := range private {
		if strings.Contains(log, s) {
			t.Errorf("the log has %q:\n%s", s, log)
		}
	}
}

// TestReplyThatOvertakes has the reply arrive before the daemon answers the
// send that it quotes: it waits for that answer, and the chat waits with it.
func TestReplyThatOvertakes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		answer func(timestamp int64) hubtest.DaemonAnswer
		told   string // the agent that sent
	}{
		{
			"the send succeeds",
			func(ts int64) hubtest.DaemonAnswer {
				return hubtest.DaemonAnswer{Result: map[string]any{"timestamp": ts, "results": []any{hubtest.DaemonResult(hubtest.DaemonContact{Number: operator}, "SUCCESS")}}}
			},
			"Sent.",
		},
		{
			"the send ends in an error that has the timestamp",
			func(ts int64) hubtest.DaemonAnswer {
				return hubtest.DaemonAnswer{Error: hubtest.DaemonSendError(-1, ts, hubtest.DaemonResult(hubtest.DaemonContact{Number: operator}, "NETWORK_FAILURE"))}
			},
			"Outcome unknown",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := hubtest.NewDaemon(t)
			h := startSignalHub(t, d, "--trusted-sender", bob, "--default-agent", "crush-signal")
			deploy, crush := h.connect("deploy-bot"), h.connect("crush-signal")
			const timestamp = 1796300000000
			answered := make(chan struct{})
			d.Answer("send", func(hubtest.DaemonRequest) hubtest.DaemonAnswer {
				a := tt.answer(timestamp)
				a.Wait = answered
				return a
			})
			told := make(chan string, 1)
			go func() {
				defer close(told)
				text, _ := deploy.callRaw("send", map[string]any{"text": "question?"})
				told <- text
			}()
			awaitRequests(t, d, "send", 1)
			receive(t, d, noteToSelf("sync_note_to_self_quote", fmt.Sprint(timestamp), map[string]any{"timestamp": timestamp + 370}))
			receive(t, d, noteToSelf("sync_note_to_self", "", map[string]any{"timestamp": timestamp + 380, "message": "and another thing"}))
			receive(t, d, capture("dm")) // in another chat: it need not wait
			crush.await(1)
			if n := len(deploy.got()); n != 0 {
				t.Fatalf("the reply did not wait: %v", deploy.got())
			}
			close(answered)
			wantEvent(t, "reply", deploy.await(1)[0], "go ahead", map[string]string{"route_status": "routed"})
			if got, want := contents(crush.await(2)), []string{"Can you check the build? 👩🏽‍💻", "and another thing"}; !slices.Equal(got, want) {
				t.Errorf("crush-signal has %q, want %q", got, want)
			}
			if text := <-told; !strings.Contains(text, tt.told) {
				t.Errorf("the agent is told %q, want %q", text, tt.told)
			}
		})
	}
}

// TestCaptcha has Signal ask for a captcha: nothing more is sent, the agent is
// told so, and the operator what to do.
func TestCaptcha(t *testing.T) {
	t.Parallel()
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d)
	a := h.connect("deploy-bot")
	b, err := os.ReadFile(filepath.Join(captures, "../rpc/proof_required.json"))
	if err != nil {
		t.Fatal(err)
	}
	var captured struct {
		Response struct{ Error any }
	}
	if err := json.Unmarshal(b, &captured); err != nil {
		t.Fatal(err)
	}
	d.Answer("send", func(hubtest.DaemonRequest) hubtest.DaemonAnswer {
		return hubtest.DaemonAnswer{Error: captured.Response.Error}
	})
	for range 2 {
		text, isError := a.callRaw("send", map[string]any{"text": "hello"})
		if !isError || !strings.Contains(text, "paused") || strings.Contains(text, "0123-challenge-token") {
			t.Errorf("the agent is told %q", text)
		}
	}
	if n := len(d.Requests("send")); n != 1 {
		t.Errorf("the daemon was asked to send %d times, want once", n)
	}
	if out := h.aldis("status").stdout; !strings.Contains(out, "paused") || !strings.Contains(out, "--challenge 0123-challenge-token") {
		t.Errorf("aldis status does not say what to do:\n%s", out)
	}
	receive(t, d, noteToSelf("sync_note_to_self", "", nil)) // the other way works
	a.await(1)
}

// TestDaemonRestarts ends the daemon, first its connections alone, then all
// of it: the hub comes back by itself.
func TestDaemonRestarts(t *testing.T) {
	t.Parallel()
	d := hubtest.NewDaemon(t)
	address := d.Address()
	h := startSignalHub(t, d)
	a := h.connect("deploy-bot")
	d.Cut()
	h.awaitStatus("/readyz", 503)
	if text, isError := a.callRaw("send", map[string]any{"text": "anybody there?"}); !isError || !strings.Contains(text, "signal-cli") {
		t.Errorf("the agent is told %q", text)
	}
	h.awaitReady()
	receive(t, d, noteToSelf("sync_note_to_self", "", map[string]any{"message": "first"}))
	a.await(1)

	d.Close()
	h.awaitStatus("/readyz", 503)
	again := hubtest.ListenDaemon(t, "tcp", address)
	h.awaitReady()
	receive(t, again, noteToSelf("sync_note_to_self", "", map[string]any{"message": "second", "timestamp": 1796055405411}))
	if got := contents(a.await(2)); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("the agent has %q", got)
	}
	if n := again.Accepted(); n != 1 {
		t.Errorf("the hub has made %d connections to the new daemon, want 1: each counts against what it receives", n)
	}
}

// TestWhatAnAgentSees shows what becomes of files, mentions and long texts.
func TestWhatAnAgentSees(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	start := dig(capture("long_text"), "params", "envelope", "dataMessage")["message"].(string)
	long := start + strings.Repeat(" and so on", 4000) + ", the end"
	for id, text := range map[string]string{
		attachmentID("long_text"):  long,
		attachmentID("attachment"): "a PDF of 17 bytes",
	} {
		if err := os.WriteFile(filepath.Join(files, id), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d, "--trusted-sender", bob, "--attachments-dir", files)
	a := h.connect("deploy-bot")
	for _, name := range []string{"mention_after_emoji", "attachment", "attachment_missing_on_cdn", "long_text"} {
		receive(t, d, capture(name))
	}
	got := a.await(4)
	wantEvent(t, "mention", got[0], "👩🏽‍💻 @+15555550100 ok", nil)
	wantEvent(t, "attachment", got[1], "report attached", map[string]string{
		"attachment_1": filepath.Join(files, attachmentID("attachment")) + " (application/pdf, 17 bytes)", "attachment_2": "",
	})
	wantEvent(t, "attachment that is not here", got[2], "lost file", map[string]string{"attachment_1": "gone.png (image/png, 12 bytes, not available locally)"})

	// The text is cut in the event, and whole to whoever asks.
	cut := got[3]
	if len(cut.Content) > 32<<10 || !strings.Contains(cut.Content, "get_message") || cut.Meta["attachment_1"] != "" {
		t.Errorf("long text: %d bytes, ends in %q, meta %v", len(cut.Content), cut.Content[len(cut.Content)-80:], cut.Meta)
	}
	first := a.call("get_message", map[string]any{"id": cut.Meta["id"]})
	text, _, more := strings.Cut(first, "\n[")
	rest := a.call("get_message", map[string]any{"id": cut.Meta["id"], "offset": len(text)})
	if !more || text+rest != long {
		t.Errorf("get_message has %d and %d bytes, want %d in all", len(text), len(rest), len(long))
	}
}

// attachmentID is the name under which the daemon keeps a captured file.
func attachmentID(name string) string {
	data := dig(capture(name), "params", "envelope", "dataMessage")
	return data["attachments"].([]any)[0].(map[string]any)["id"].(string)
}

// TestPrefix has agents hear only what begins with a word: replies too, but
// not reactions.
func TestPrefix(t *testing.T) {
	t.Parallel()
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d, "--prefix", "bot:")
	a := h.connect("deploy-bot")
	sent := messageID(t, a.call("send", map[string]any{"text": "ready?"}))
	say := func(ts int64, text string) {
		receive(t, d, noteToSelf("sync_note_to_self", "", map[string]any{"timestamp": ts, "message": text}))
	}
	say(1796300000001, "milk, bread")
	say(1796300000002, "  BOT: deploy it")
	receive(t, d, noteToSelf("sync_note_to_self_quote", sent, nil)) // "go ahead"
	receive(t, d, noteToSelf("sync_note_to_self_quote", sent, map[string]any{"timestamp": 1796300000003, "message": "bot: go on"}))
	receive(t, d, noteToSelf("sync_note_to_self_reaction", sent, nil))
	want := []string{"deploy it", "go on", "[reaction: ✅ to message " + sent + " from " + operator + "]"}
	if got := contents(a.await(3)); !slices.Equal(got, want) {
		t.Errorf("the agent hears %q, want %q", got, want)
	}
}

// TestWhomAgentsMayWriteTo has an agent write to people: those who wrote to it
// first, and those who are allowed, and nobody else.
func TestWhomAgentsMayWriteTo(t *testing.T) {
	t.Parallel()
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d, "--trusted-sender", bob, "--trusted-recipient", "+15555550177")
	a := h.connect("deploy-bot")
	refused := func(chat string) {
		t.Helper()
		text, isError := a.callRaw("reply", map[string]any{"chat_id": chat, "text": "hello"})
		if !isError || !strings.Contains(text, "may write to") {
			t.Errorf("a message to %s: %q", chat, text)
		}
	}
	refused(bob)
	refused("+15555550199")
	refused("group:zFNrL+gz/+LssRB/OiIbwjblXx63iddHEZiepvunCiM=")
	a.call("reply", map[string]any{"chat_id": "+15555550177", "text": "hello"})
	receive(t, d, capture("dm"))
	e := a.await(1)[0]
	a.call("reply", map[string]any{"chat_id": e.Meta["chat_id"], "text": "hello Bob", "reply_to": e.Meta["message_id"]})
	refused("+15555550199")

	// An agent takes back its own words, not another's.
	other := h.connect("crush-signal")
	sent := messageID(t, a.call("reply", map[string]any{"chat_id": bob, "text": "a secret"}))
	if text, isError := other.callRaw("delete_message", map[string]any{"chat_id": bob, "message_id": sent}); !isError || !strings.Contains(text, "not one that you sent") {
		t.Errorf("another's deletion: %q", text)
	}
	a.call("edit_message", map[string]any{"chat_id": bob, "message_id": sent, "text": "no secret"})
	a.call("delete_message", map[string]any{"chat_id": bob, "message_id": sent})
	if n := len(d.Requests("remoteDelete")); n != 1 {
		t.Errorf("%d deletions, want 1", n)
	}
	receipts := awaitRequests(t, d, "sendReceipt", 1)
	if len(receipts) != 1 {
		t.Errorf("%d receipts, want 1", len(receipts))
	}
}
