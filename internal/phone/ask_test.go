package phone

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
)

// askFor has deploy-bot send something that asks so, and returns its key.
func askFor(t *testing.T, p *Phone, a *hub.Asks) string {
	t.Helper()
	sent, err := p.Send(t.Context(), hub.Message{Via: hub.ViaPrompt, Kind: hub.Text, Agent: "deploy-bot", Text: "🔐 deploy-bot asks", Ref: p.Operator(), Asks: a})
	if err != nil {
		t.Fatal(err)
	}
	return sent.Refs[0].Key
}

func (p *Phone) post(t *testing.T, w post) {
	t.Helper()
	p.mu.Lock()
	w.ID, w.Chat = fmt.Sprint("p", p.state.last), operator
	p.mu.Unlock()
	if err := p.pass(t.Context(), w); err != nil {
		t.Fatal(err)
	}
}

// asking makes the bubbles that the tests below answer: a request for
// permission (key 0) and a question (key 1).
func asking(t *testing.T, p *Phone) {
	t.Helper()
	askFor(t, p, &hub.Asks{Code: "abcde"})
	askFor(t, p, &hub.Asks{Choices: []string{"nginx", "postgres"}})
}

func TestThePhoneShowsWhatItsOwnerAnswered(t *testing.T) {
	prompt, question := key(0), key(1)
	text := func(text, quote string) post { return post{Kind: hub.Text, Text: text, Quote: quote} }
	react := func(emoji, to string) post { return post{Kind: hub.Reaction, Text: emoji, Quote: to} }
	for _, tt := range []struct {
		name string
		post post
		of   string // the bubble that asks
		want string
	}{
		{"yes, quoting a request", text("yes", prompt), prompt, "yes"},
		{"no", text(" N\n", prompt), prompt, "no"},
		{"a thumb in a quote", text("👎🏽", prompt), prompt, "no"},
		{"a thumb as a reaction", react("👍", prompt), prompt, "yes"},
		{"the code, quoting nothing", text("Yes ABCDE", ""), prompt, "yes"},
		{"the code, quoting something else", text("no abcde", question), prompt, "no"},
		{"other words are no verdict", text("yes, but why?", prompt), prompt, ""},
		{"nor is another reaction", react("🎉", prompt), prompt, ""},
		{"nor a reaction taken back", post{Kind: hub.Reaction, Text: "👍", Quote: prompt, Removed: true}, prompt, ""},
		{"nor another code", text("yes abcdf", ""), prompt, ""},
		{"nor a yes that quotes nothing", text("yes", ""), prompt, ""},
		{"a number, quoting a question", text("2", question), question, "2"},
		{"a choice in its words", text("Postgres", question), question, "2"},
		{"a bare number", text("1", ""), question, "1"},
		{"a number out of range is mere words", text("3", ""), question, ""},
		{"other words answer a question too", text("neither", question), question, "neither"},
		{"so does a reaction", react("🎉", question), question, "🎉"},
		{"a yes answers the request alone", text("yes abcde", ""), question, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPhone(t, "")
			run(t, p, &recorder{})
			asking(t, p)
			p.post(t, tt.post)
			if got := shown(t, p, operator, tt.of).Asks.Answer; got != tt.want {
				t.Errorf("the answer is %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTheFirstAnswerStaysAfterARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "phone")
	p := newPhone(t, path)
	stop := run(t, p, &recorder{})
	asking(t, p)
	p.post(t, post{Kind: hub.Text, Text: "no", Quote: key(0)})
	p.post(t, post{Kind: hub.Edit, Text: "yes", Target: key(2)})
	p.post(t, post{Kind: hub.Reaction, Text: "👍", Quote: key(0)})
	p.post(t, post{Kind: hub.Text, Text: "yes abcde"})
	stop()
	again := newPhone(t, path)
	for k, want := range map[string]*ask{key(0): {Code: "abcde", Answer: "no"}, key(1): {Choices: []string{"nginx", "postgres"}}} {
		if d := cmp.Diff(want, shown(t, again, operator, k).Asks); d != "" {
			t.Errorf("bubble %s (-want +got):\n%s", k, d)
		}
	}
}

func TestTwoOpenQuestionsTakeNoBareNumber(t *testing.T) {
	p := newPhone(t, "")
	run(t, p, &recorder{})
	asking(t, p)
	other := askFor(t, p, &hub.Asks{Choices: []string{"a", "b"}})
	p.post(t, post{Kind: hub.Text, Text: "1"})
	for _, k := range []string{key(1), other} {
		if got := shown(t, p, operator, k).Asks.Answer; got != "" {
			t.Errorf("%s is answered by %q", k, got)
		}
	}
	p.post(t, post{Kind: hub.Text, Text: "1", Quote: other})
	p.post(t, post{Kind: hub.Text, Text: "2"})
	if got := shown(t, p, operator, key(1)).Asks.Answer; got != "2" {
		t.Errorf("the one that is open is answered by %q, want 2", got)
	}
}

func TestWhatTheGateKeptOutAnswersNothing(t *testing.T) {
	p := newPhone(t, "")
	run(t, p, &recorder{answer: func(hub.Message) (hub.Receipt, error) { return hub.Receipt{Dropped: "prefix"}, nil }})
	asking(t, p)
	p.post(t, post{Kind: hub.Text, Text: "yes", Quote: key(0)})
	if got := shown(t, p, operator, key(0)).Asks.Answer; got != "" {
		t.Errorf("the answer is %q", got)
	}
}

func TestNothingIsHiddenInAChoice(t *testing.T) {
	p := newPhone(t, "")
	k := askFor(t, p, &hub.Asks{Choices: []string{"keep\u202edrop", "two\nlines"}})
	if d := cmp.Diff([]string{"keep\uFFFDdrop", "two lines"}, shown(t, p, operator, k).Asks.Choices); d != "" {
		t.Errorf("choices (-want +got):\n%s", d)
	}
}

func TestOnlyTheHubMakesARequestOfAMessage(t *testing.T) {
	p := newPhone(t, "")
	typed := say(t, p, "deploy-bot", "🔐 deploy-bot asks to use Bash\n\nAnswer “yes abcde” or “no abcde”.")
	if b := shown(t, p, operator, typed); b.Asks != nil {
		t.Errorf("what an agent typed asks %+v", b.Asks)
	}
	asked := askFor(t, p, &hub.Asks{Code: "abcde"})
	_, err := p.Send(t.Context(), hub.Message{Via: hub.ViaTool, Kind: hub.Edit, Agent: "deploy-bot", Text: "harmless", Ref: p.Operator(), Target: ref(operator, asked)})
	if err != nil {
		t.Fatal(err)
	}
	if b := shown(t, p, operator, asked); b.Asks != nil || b.Text != "harmless" {
		t.Errorf("what an agent has edited is %+v, want mere words", b)
	}
}
