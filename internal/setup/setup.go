// Package setup leads a person at a terminal, or a script, through the steps
// that a set-up needs, and has what those steps are made of: questions, the code
// that a phone scans, and signal-cli as a program.
//
// Its one rule: what is there already is left alone, and nothing is replaced
// that somebody has not agreed to; so that all of it can be run again at any
// time, and stopped in any step.
package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A Step is one part of a set-up.
type Step interface {
	// Title names it.
	Title() string
	// Done says what is there already, if nothing is left to be done.
	Done(ctx context.Context) (what string, err error)
	// Ask asks for what Do needs. It changes nothing.
	Ask(ctx context.Context) error
	// Do does it.
	Do(ctx context.Context) error
}

// A Left is the error of a step that has to wait, while others can go on.
type Left struct {
	Why  string
	Mend string // what to do; one command or some lines
}

func (l *Left) Error() string { return l.Why + ": " + l.Mend }

// Run goes through steps, tells out what becomes of each, and returns those that
// have to wait. Any error of a step but a *Left ends it.
func Run(ctx context.Context, out io.Writer, steps []Step) (left []*Left, err error) {
	for i, s := range steps {
		fmt.Fprintf(out, "\n%d/%d %s\n", i+1, len(steps), s.Title())
		err := take(ctx, out, s)
		if ctx.Err() != nil {
			return left, ctx.Err()
		}
		if wait, ok := errors.AsType[*Left](err); ok {
			left = append(left, wait)
			fmt.Fprint(out, Indent(wait.Why+".\n"+wait.Mend))
			continue
		}
		if err != nil {
			return left, err
		}
	}
	return left, nil
}

func take(ctx context.Context, out io.Writer, s Step) error {
	what, err := s.Done(ctx)
	if err != nil {
		return err
	}
	if what != "" {
		fmt.Fprint(out, Indent(what))
		return nil
	}
	if err := s.Ask(ctx); err != nil {
		return err
	}
	return s.Do(ctx)
}

// Indent puts blanks before each line, and an end after the last.
func Indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}
