package test

import (
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"aldis/internal/hubtest"
)

// TestNobodyIsThere has the operator write before any agent has come: it
// waits, over a kill too, the operator is told once, and the first agent gets
// it.
func TestNobodyIsThere(t *testing.T) {
	t.Parallel()
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d, "--default-agent", "crush-signal")
	receive(t, d, noteToSelf("sync_note_to_self", "", nil))
	receive(t, d, noteToSelf("sync_note_to_self", "", map[string]any{"timestamp": int64(1796055405411), "message": "Anybody?"}))
	eventually(t, "both wait", func() bool { return h.status().Waiting == 2 })
	told := awaitRequests(t, d, "send", 1)
	if text, _ := told[0].Params["message"].(string); !strings.Contains(text, "No agent is connected") {
		t.Errorf("the operator is told %q", text)
	}
	h.kill()
	h.start()
	h.awaitReady()
	a := h.connect("deploy-bot") // not the default one, but somebody
	if got, want := contents(a.await(2)), []string{"Remind me to deploy", "Anybody?"}; !slices.Equal(got, want) {
		t.Errorf("the first agent gets %q, want %q", got, want)
	}
}

// TestMailForTheAbsent posts to an agent that has gone, and to one that never
// was.
func TestMailForTheAbsent(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--alias", "ci=deploy-bot")
	fate := func(id string) string { return h.do(http.MethodGet, "/notify/"+id, nil, bearer(token)).body }
	held := h.notify("cron", "ci", "for later")
	if got := fate(held); !strings.Contains(got, `"agent":"deploy-bot","state":"queued"`) {
		t.Errorf("mail for an agent that is known by its alias: %s", got)
	}
	if got := fate(h.notify("cron", "ghost", "boo")); strings.Contains(got, "queued") {
		t.Errorf("mail for nobody: %s", got)
	}
	h.kill()
	h.start()
	a := h.connect("deploy-bot")
	wantEvent(t, "mail", a.await(1)[0], "for later", map[string]string{"id": held, "source": "cron"})
	eventually(t, "it is handed over", func() bool { return strings.Contains(fate(held), `"state":"handed_over"`) })
	a.call("inbox", map[string]any{"ack": []string{held}})
	if got := fate(held); !strings.Contains(got, `"state":"acknowledged"`) {
		t.Errorf("acknowledged mail: %s", got)
	}
}

// TestAgentsWriteToEachOther has one agent write to another, to all, and to
// nobody: it is told truthfully what became of it.
func TestAgentsWriteToEachOther(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a, b := h.connect("deploy-bot"), h.connect("crush-signal")
	for _, tt := range []struct {
		args map[string]any
		says string
	}{
		{map[string]any{"content": "to you", "target": "crush-signal", "meta": map[string]any{"build": 7, "source": "forged"}}, "sent to 1 sessions of crush-signal"},
		{map[string]any{"content": "to all"}, "sent to 1 sessions"},
		{map[string]any{"content": "to nobody", "target": "ghost"}, "no agent ghost"},
	} {
		if got := a.call("send_message", tt.args); !strings.Contains(got, tt.says) {
			t.Errorf("it is told %q, want %q", got, tt.says)
		}
	}
	got := b.await(2)
	wantEvent(t, "message", got[0], "to you", map[string]string{"source": "deploy-bot", "from": "deploy-bot", "build": "7", "route_status": ""})
	wantEvent(t, "broadcast", got[1], "to all", map[string]string{"from": "deploy-bot"})
	if n := len(a.got()); n != 0 {
		t.Errorf("%d of its own words came back", n)
	}
}

// TestDaemonOnASocket joins a daemon that listens on a unix socket, and has it
// say things in the shape of its manual mode.
func TestDaemonOnASocket(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("signal-cli has no unix socket on Windows")
	}
	d := hubtest.ListenDaemon(t, "unix", filepath.Join(t.TempDir(), "s"))
	h := startSignalHub(t, d, "--trusted-sender", bob)
	a := h.connect("deploy-bot")
	receive(t, d, capture("manual_mode_notification"))
	e := a.await(1)[0]
	a.call("reply", map[string]any{"chat_id": e.Meta["chat_id"], "text": "heard"})
	if to := awaitRequests(t, d, "send", 1)[0].Params["recipient"]; !slices.Equal(to.([]any), []any{bob}) {
		t.Errorf("the answer goes to %v", to)
	}
}
