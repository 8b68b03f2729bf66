package gate

import (
	"testing"

	"aldis/internal/hub"
)

const (
	number = hub.SenderID("+15550001")
	uuid   = hub.SenderID("b0b00000-0000-4000-8000-000000000101")
)

func text(from hub.SenderID, s string) hub.Message {
	return hub.Message{Ref: hub.Ref{Platform: "signal", Chat: hub.ChatID(from)}, From: hub.Sender{ID: from}, Kind: hub.Text, Text: s}
}

func TestWhoIsHeard(t *testing.T) {
	inGroup := func(m hub.Message, addressed bool) hub.Message {
		m.Ref.Chat, m.Group, m.Addressed = "group:x", "x", addressed
		return m
	}
	known := text(uuid, "hi")
	known.From.Aliases = []hub.SenderID{number}
	elsewhere := text(number, "hi")
	elsewhere.Ref.Platform = "web"
	for _, tt := range []struct {
		name string
		gate *Gate
		m    hub.Message
		want Admission
	}{
		{"a trusted number", &Gate{}, text(number, "hi"), Admitted},
		{"the same person by UUID", &Gate{}, known, Admitted},
		{"a UUID that nobody has joined to a number", &Gate{}, text(uuid, "hi"), Stranger},
		{"a stranger", &Gate{}, text("+15559999", "hi"), Stranger},
		{"a stranger with a trusted name", &Gate{}, func() hub.Message {
			m := text("+15559999", "hi")
			m.From.Name = string(number)
			return m
		}(), Stranger},
		{"a stranger in a chat with a friend in it", &Gate{AllInGroup: true}, inGroup(text("+15559999", "hi"), true), Stranger},
		{"the same id on another platform", &Gate{}, elsewhere, Stranger},
		{"a friend in a group, to others", &Gate{}, inGroup(text(number, "hi"), false), NotAddressed},
		{"a friend in a group, to us", &Gate{}, inGroup(text(number, "hi"), true), Admitted},
		{"a friend in a group, all heard", &Gate{AllInGroup: true}, inGroup(text(number, "hi"), false), Admitted},
		{"without the prefix", &Gate{Prefix: "bot"}, text(number, "hi"), NoPrefix},
		{"a file without a text, with a prefix set", &Gate{Prefix: "bot"}, text(number, ""), NoPrefix},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.gate.Trust("signal", number)
			if _, got := tt.gate.Admit(tt.m, false); got != tt.want {
				t.Errorf("Admit = %s, want %s", got, tt.want)
			}
		})
	}
	if _, got := new(Gate).Admit(text(number, "hi"), true); got != Stranger {
		t.Errorf("the zero gate answers %s, want %s", got, Stranger)
	}
}

func TestPrefixIsTakenOff(t *testing.T) {
	for _, tt := range []struct {
		prefix, in, want string
		ok               bool
	}{
		{"", "as it is ", "as it is ", true},
		{"bot", "bot do it", "do it", true},
		{"bot", "  BOT\tdo it", "do it", true},
		{"bot", "bot: do it", ": do it", true},
		{"bot", "bot", "", true},
		{"bot", "bottle", "", false},
		{"bot", "robot go", "", false},
		{"bot", "bot_x", "", false},
		{"!", "!now", "now", true},
		{"élan", "ÉLAN vital", "vital", true},
		{"bot", "", "", false},
	} {
		g := Gate{Prefix: tt.prefix}
		g.Trust("signal", number)
		m, got := g.Admit(text(number, tt.in), false)
		if (got == Admitted) != tt.ok || tt.ok && m.Text != tt.want {
			t.Errorf("prefix %q, %q: %s with %q, want %q (%v)", tt.prefix, tt.in, got, m.Text, tt.want, tt.ok)
		}
	}
}

func TestSomeThingsNeedNoPrefix(t *testing.T) {
	g := Gate{Prefix: "bot"}
	g.Trust("signal", number)
	reaction, deletion, edit := text(number, "👍"), text(number, ""), text(number, "new words")
	reaction.Kind, deletion.Kind, edit.Kind = hub.Reaction, hub.Deletion, hub.Edit
	for _, tt := range []struct {
		name    string
		m       hub.Message
		verdict bool
		want    Admission
	}{
		{"a reaction", reaction, false, Admitted},
		{"a deletion", deletion, false, Admitted},
		{"a verdict", text(number, "yes abcde"), true, Admitted},
		{"an edit does", edit, false, NoPrefix},
	} {
		if _, got := g.Admit(tt.m, tt.verdict); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestWordsOfThirdPeopleAreMarked(t *testing.T) {
	var g Gate
	g.Trust("signal", number)
	for _, tt := range []struct {
		name  string
		quote hub.Quote
		want  bool
	}{
		{"ours", hub.Quote{Ours: true, From: "+15550000"}, false},
		{"a friend's", hub.Quote{From: number}, false},
		{"a friend's by another name", hub.Quote{From: uuid, Aliases: []hub.SenderID{number}}, false},
		{"a stranger's", hub.Quote{From: "+15559999"}, true},
		{"nobody's", hub.Quote{}, true},
	} {
		m := text(number, "look")
		m.Quote = &tt.quote
		got, _ := g.Admit(m, false)
		if got.Quote.Untrusted != tt.want {
			t.Errorf("%s: untrusted %v, want %v", tt.name, got.Quote.Untrusted, tt.want)
		}
		if tt.quote.Untrusted {
			t.Errorf("%s: the message that was given was changed", tt.name)
		}
	}
}

func TestWhomAgentsMayWriteTo(t *testing.T) {
	g := Gate{SameChat: func(_ hub.PlatformID, a, b hub.ChatID) bool { return a == "+1" && b == "uuid-1" }}
	g.Open("signal", "+1")
	for chat, want := range map[hub.ChatID]bool{"+1": true, "uuid-1": true, "+2": false, "group:x": false} {
		if got := g.MayReach("signal", chat); got != want {
			t.Errorf("MayReach(%s) = %v, want %v", string(chat), got, want)
		}
	}
	if g.MayReach("web", "+1") {
		t.Error("a chat of another platform is open")
	}
	if !(&Gate{Anyone: true}).MayReach("signal", "+9") {
		t.Error("with Anyone every chat is open")
	}
}
