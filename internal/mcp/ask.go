package mcp

import (
	"context"
	"fmt"
	"time"

	"aldis/internal/hub"
)

// askFor is how long ask waits when it is not told.
const askFor = 45

type askArgs struct {
	Question string   `json:"question"`
	Choices  []string `json:"choices"`
	Timeout  *int     `json:"timeout_seconds"`
	Default  *string  `json:"default"`
}

func (x *tools) ask(ctx context.Context, c *call, in askArgs) (string, error) {
	if err := x.seated(c); err != nil {
		return "", err
	}
	seconds := askFor
	if in.Timeout != nil {
		seconds = *in.Timeout
	}
	p := c.session.prompt()
	p.Choices, p.Default, p.Key = in.Choices, in.Default, c.key
	a, err := x.verbs.Ask(ctx, p, in.Question, time.Duration(seconds)*time.Second)
	if err != nil {
		return "", err
	}
	if a.Done != nil {
		c.afterwards(a.Done)
	}
	return answerText(a, seconds, in.Default != nil), nil
}

// prompt returns a prompt that the session asks.
func (s *session) prompt() hub.Prompt {
	return hub.Prompt{Agent: s.saved.Agent, Subject: s.saved.Subject, Session: s.saved.ID, Begun: s.saved.Begun}
}

// answerText says what became of a question, after so many seconds.
func answerText(a hub.Answer, seconds int, hasDefault bool) string {
	text := harmless(a.Text)
	switch {
	case a.Reply && a.Choice > 0:
		return fmt.Sprintf("Answer: choice %d, %s", a.Choice, text)
	case a.Reply:
		return "Answer: " + text
	case a.State == hub.Open:
		return fmt.Sprintf("No answer yet. Ticket %s: the answer arrives as an event with question=%[1]q.", a.Ticket)
	case hasDefault:
		return fmt.Sprintf("No answer in %d s; the default was taken: %s", seconds, text)
	default:
		return "No answer came in time, and the question is closed."
	}
}
