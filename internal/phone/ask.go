package phone

import (
	"slices"
	"strconv"
	"strings"

	"aldis/internal/hub"
)

// An ask is how a bubble that asks something can be answered, and how the
// phone's owner did. That is what the page shows; what an answer comes to is
// for the hub alone to say.
type ask struct {
	Code    string   `json:"code,omitempty"`    // of a request for permission; empty: a question
	Choices []string `json:"choices,omitempty"` // of a question
	Answer  string   `json:"answer,omitempty"`  // "yes" or "no"; the number of a choice, or other words. Empty: none yet
}

func newAsk(a *hub.Asks) *ask {
	if a == nil {
		return nil
	}
	n := &ask{Code: a.Code}
	for _, c := range a.Choices {
		n.Choices = append(n.Choices, hub.OneLine(c, hub.PreviewBytes))
	}
	return n
}

// answered returns a as it is once text was said to it. The first answer stands.
func (a *ask) answered(text string) *ask {
	if a == nil || a.Answer != "" {
		return a
	}
	b := *a
	b.Answer = a.read(text)
	return &b
}

// read says which answer text is; empty: none.
func (a *ask) read(text string) string {
	text = strings.TrimSpace(text)
	if a.Code != "" {
		return yesOrNo(text)
	}
	for i, c := range a.Choices {
		if n := strconv.Itoa(i + 1); text == n || strings.EqualFold(text, c) {
			return n
		}
	}
	return hub.Clip(text, hub.PreviewBytes)
}

// skins are what makes an emoji of a colour.
const skins = "\U0001F3FB\U0001F3FC\U0001F3FD\U0001F3FE\U0001F3FF\uFE0F"

func yesOrNo(text string) string {
	switch strings.ToLower(strings.TrimRight(text, skins)) {
	case "yes", "y", "👍":
		return "yes"
	case "no", "n", "👎":
		return "no"
	default:
		return ""
	}
}

// answers returns the bubble that the text m answers, as it is then, or nil.
func (s *state) answers(m hub.Message) *bubble {
	b, text, ok := s.asked(m)
	if !ok || b.Asks == nil || b.Asks.Answer != "" || b.Asks.read(text) == "" {
		return nil
	}
	b.Asks = b.Asks.answered(text)
	return &b
}

// asked finds the bubble that the text m is about: whose code it names, which
// it quotes, or, for a bare number, the one question that is open. It returns
// what m says to it, without the code.
func (s *state) asked(m hub.Message) (b bubble, text string, ok bool) {
	if words := strings.Fields(m.Text); len(words) == 2 {
		code := strings.ToLower(words[1])
		if b, ok := s.only(m.Ref.Chat, func(a *ask) bool { return a.Code == code }); ok && yesOrNo(words[0]) != "" {
			return b, words[0], true
		}
	}
	if m.Quote != nil {
		b, ok = s.find(m.Ref.Chat, m.Quote.Ref.Key)
		return b, m.Text, ok
	}
	n, err := strconv.Atoi(strings.TrimSpace(m.Text))
	b, ok = s.only(m.Ref.Chat, func(a *ask) bool { return a.Code == "" && a.Answer == "" })
	return b, m.Text, ok && err == nil && 1 <= n && n <= len(b.Asks.Choices)
}

// only returns the bubble of a chat that asks so, if there is exactly one.
func (s *state) only(chat hub.ChatID, so func(*ask) bool) (bubble, bool) {
	asks := func(b bubble) bool { return b.Asks != nil && so(b.Asks) }
	list := s.chats[chat]
	i := slices.IndexFunc(list, asks)
	if i < 0 || slices.ContainsFunc(list[i+1:], asks) {
		return bubble{}, false
	}
	return list[i], true
}
