package phone

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
)

func TestARestartKeepsEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "phone")
	p := newPhone(t, path)
	stop := run(t, p, &recorder{})
	conversation(t, p)
	for i, w := range []post{
		{Kind: hub.Text, Text: "a picture", Pictures: []upload{{Name: "g", Data: png}}},
		{Kind: hub.Reaction, Text: "👍", Quote: key(0)},
		{Kind: hub.Edit, Text: "Yes!", Target: key(1)},
		{Kind: hub.Text, Text: "a slip"},
		{Kind: hub.Deletion, Target: key(5)},
	} {
		w.ID, w.Chat = "w"+key(int64(i)), operator
		if err := p.pass(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	err := p.commit(func(s *state) (*line, error) {
		return s.heard(received{Agent: "deploy-bot", ID: "m", Seq: 1, Content: "Yes", Meta: map[string]string{"route_status": "routed"}})
	})
	if err != nil {
		t.Fatal(err)
	}
	stop()
	again := newPhone(t, path)
	if d := cmp.Diff(p.state, again.state, cmp.AllowUnexported(state{})); d != "" {
		t.Errorf("after the restart (-before +after):\n%s", d)
	}
}

func TestALineThatAKillCutShortIsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "phone")
	p := newPhone(t, path)
	say(t, p, "a", "whole")
	if _, err := p.journal.f.WriteString(`{"bubble":{"key":"1","chat":"opera`); err != nil {
		t.Fatal(err)
	}
	second := newPhone(t, path)
	say(t, second, "a", "after")
	third := newPhone(t, path)
	if list := third.state.chats[operator]; len(list) != 2 || list[0].Text != "whole" || list[1].Text != "after" {
		t.Errorf("bubbles: %+v", list)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	p := &Phone{Path: filepath.Join(t.TempDir(), "no", "folder", "\x00")}
	if err := p.Open(); err == nil || !strings.Contains(err.Error(), "demo's phone") {
		t.Errorf("Open = %v", err)
	}
}
