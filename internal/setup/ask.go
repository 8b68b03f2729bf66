package setup

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A Question is what somebody is asked.
type Question struct {
	Text     string
	Choices  []string // one of these is the answer; nil: any text is
	Default  string   // what an empty answer means; "": there has to be one
	Scripted string   // what a script answers; "": Default
	Flag     string   // by which a script answers, for the error

	// Check returns the answer as it is to be used, or what is wrong with it.
	// Nil: anything will do.
	Check func(answer string) (string, error)
}

// An Asker puts questions.
type Asker interface {
	// Ask returns an answer that the question allows. It fails if there will
	// be none, and when ctx ends.
	Ask(ctx context.Context, q Question) (string, error)
}

// ErrGone means that there is nobody any more who could answer.
var ErrGone = errors.New("the input has ended")

// Confirm asks for yes or no; Default and Scripted of q are "yes" or "no".
func Confirm(ctx context.Context, a Asker, q Question) (bool, error) {
	q.Check = func(answer string) (string, error) {
		switch strings.ToLower(answer) {
		case "y", "yes":
			return "yes", nil
		case "n", "no":
			return "no", nil
		}
		return "", errors.New("yes or no?")
	}
	answer, err := a.Ask(ctx, q)
	return answer == "yes", err
}

// check returns the answer that s stands for.
func (q Question) check(s string) (string, error) {
	if s = strings.TrimSpace(s); s == "" {
		s = q.Default
	}
	switch {
	case s == "":
		return "", errors.New("an answer is needed")
	case q.Choices != nil:
		return q.choice(s)
	case q.Check != nil:
		return q.Check(s)
	default:
		return s, nil
	}
}

// choice takes the number of a choice, or the choice itself.
func (q Question) choice(s string) (string, error) {
	n, err := strconv.Atoi(s)
	for i, c := range q.Choices {
		if err == nil && n == i+1 || s == c {
			return c, nil
		}
	}
	return "", fmt.Errorf("one of 1 to %d", len(q.Choices))
}

// A Person answers in lines.
type Person struct {
	out io.Writer
	in  *bufio.Reader
}

// NewPerson returns somebody who reads out and writes to in. Once the context of
// a question has ended no more can be put: its answer may still be read.
func NewPerson(in io.Reader, out io.Writer) *Person {
	return &Person{out, bufio.NewReader(in)}
}

// Ask is part of [Asker]. It asks again until an answer will do.
func (p *Person) Ask(ctx context.Context, q Question) (string, error) {
	fmt.Fprint(p.out, Indent(q.Text))
	prompt := "  > "
	if q.Default != "" {
		prompt = "  [" + q.Default + "] > "
	}
	for i, c := range q.Choices {
		fmt.Fprintf(p.out, "    %d  %s\n", i+1, c)
		if c == q.Default {
			prompt = fmt.Sprintf("  [%d] > ", i+1)
		}
	}
	for {
		fmt.Fprint(p.out, prompt)
		line, err := p.line(ctx)
		if err != nil {
			fmt.Fprintln(p.out)
			return "", err
		}
		answer, wrong := q.check(line)
		if wrong == nil {
			return answer, nil
		}
		fmt.Fprint(p.out, Indent(wrong.Error()))
	}
}

// line reads a line. Nothing can wake whoever reads a terminal, so that when ctx
// ends first the goroutine stays until the process ends, with the next line.
func (p *Person) line(ctx context.Context) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := p.in.ReadString('\n')
		done <- read{line, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return "", ErrGone
		}
		return r.line, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// A Script answers as its flags say.
type Script struct{ Out io.Writer }

// Ask is part of [Asker]. It fails if the question cannot be answered without a
// flag.
func (s Script) Ask(_ context.Context, q Question) (string, error) {
	answer, err := q.check(cmp.Or(q.Scripted, q.Default))
	if err != nil {
		return "", &Unanswered{q}
	}
	fmt.Fprint(s.Out, Indent(q.Text+" "+answer))
	return answer, nil
}

// Unanswered is the error of a question that a script has no answer to.
type Unanswered struct{ Question Question }

func (u *Unanswered) Error() string {
	return fmt.Sprintf("%s: --yes alone does not answer this; give %s", strings.TrimRight(u.Question.Text, "?:"), u.Question.Flag)
}
