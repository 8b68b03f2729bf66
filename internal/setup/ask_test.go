package setup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func number(answer string) (string, error) {
	if !strings.HasPrefix(answer, "+") {
		return "", errors.New("want a number")
	}
	return answer, nil
}

func TestPersonAnswers(t *testing.T) {
	accounts := []string{"+1", "+2"}
	for _, tt := range []struct {
		name, typed string
		q           Question
		want, says  string
	}{
		{"any text, without blanks", " x \r\n", Question{}, "x", ""},
		{"nothing is the default", "\n", Question{Default: "d"}, "d", "[d]"},
		{"nothing without a default", "\n\nx\n", Question{}, "x", "an answer is needed"},
		{"what will not do is asked again", "1\n+1\n", Question{Check: number}, "+1", "want a number"},
		{"a choice by its place", "2\n", Question{Choices: accounts}, "+2", "2  +2"},
		{"a choice by itself", "+2\n", Question{Choices: accounts}, "+2", ""},
		{"a choice that is the default", "\n", Question{Choices: accounts, Default: "+2"}, "+2", "[2] >"},
		{"no choice", "3\n0\n+3\n1\n", Question{Choices: accounts}, "+1", "one of 1 to 2"},
		{"what it is asked is shown", "x\n", Question{Text: "Who?"}, "x", "  Who?\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			got, err := NewPerson(strings.NewReader(tt.typed), &out).Ask(t.Context(), tt.q)
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
			if !strings.Contains(out.String(), tt.says) {
				t.Errorf("%q does not say %q", out.String(), tt.says)
			}
		})
	}
}

func TestPersonConfirms(t *testing.T) {
	p := NewPerson(strings.NewReader("y\nNO\n\nperhaps\nyes\n"), io.Discard)
	for i, want := range []bool{true, false, false, true} {
		if got, err := Confirm(t.Context(), p, Question{Default: "no"}); err != nil || got != want {
			t.Errorf("answer %d: %t, %v", i+1, got, err)
		}
	}
}

func TestPersonLeaves(t *testing.T) {
	if _, err := NewPerson(strings.NewReader("half"), io.Discard).Ask(t.Context(), Question{}); !errors.Is(err, ErrGone) {
		t.Errorf("the input ended: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in, out := io.Pipe() // nobody writes
	defer out.Close()
	if _, err := NewPerson(in, io.Discard).Ask(ctx, Question{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Ctrl-C: %v", err)
	}
}

func TestScriptAnswers(t *testing.T) {
	var out bytes.Buffer
	s := Script{&out}
	for _, tt := range []struct {
		q    Question
		want string // "": it has no answer
	}{
		{Question{Default: "a"}, "a"},
		{Question{Default: "a", Scripted: "b"}, "b"},
		{Question{Choices: []string{"a", "b"}, Scripted: "b"}, "b"},
		{Question{Text: "Which?", Flag: "--which"}, ""},
		{Question{Text: "Which?", Flag: "--which", Default: "1", Check: number}, ""},
	} {
		got, err := s.Ask(t.Context(), tt.q)
		if got != tt.want {
			t.Errorf("%+v: %q, %v", tt.q, got, err)
		}
		if tt.want == "" && (!errors.As(err, new(*Unanswered)) || !strings.Contains(err.Error(), "Which: --yes alone does not answer this; give --which")) {
			t.Errorf("%+v: %v", tt.q, err)
		}
	}
}
