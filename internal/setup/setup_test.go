package setup

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

// A fake is a step that notes what becomes of it.
type fake struct {
	title, done string
	fails       error // of Do
	log         *[]string
}

func (f fake) Title() string { return f.title }

func (f fake) Done(context.Context) (string, error) { return f.done, nil }

func (f fake) Ask(context.Context) error {
	*f.log = append(*f.log, "ask "+f.title)
	return nil
}

func (f fake) Do(context.Context) error {
	*f.log = append(*f.log, "do "+f.title)
	return f.fails
}

func TestRun(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name  string
		steps []fake
		log   string
		left  int
		err   error
	}{
		{"one by one", []fake{{title: "a"}, {title: "b"}}, "ask a, do a, ask b, do b", 0, nil},
		{"what is done is left alone", []fake{{title: "a", done: "it is"}, {title: "b"}}, "ask b, do b", 0, nil},
		{"others go on", []fake{{title: "a", fails: &Left{"why", "mend"}}, {title: "b"}}, "ask a, do a, ask b, do b", 1, nil},
		{"an error ends it", []fake{{title: "a", fails: broken}, {title: "b"}}, "ask a, do a", 0, broken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log []string
			var steps []Step
			for _, s := range tt.steps {
				s.log = &log
				steps = append(steps, s)
			}
			var out bytes.Buffer
			left, err := Run(t.Context(), &out, steps)
			if got := strings.Join(log, ", "); got != tt.log || len(left) != tt.left || !errors.Is(err, tt.err) {
				t.Errorf("%s; %d left; %v", got, len(left), err)
			}
			if tt.left > 0 && !strings.Contains(out.String(), "1/2 a\n  why.\n  mend\n") {
				t.Errorf("printed %q", out.String())
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, &bytes.Buffer{}, []Step{fake{title: "a", fails: &Left{"", ""}, log: new([]string)}}); !errors.Is(err, context.Canceled) {
		t.Errorf("Ctrl-C in a step: %v", err)
	}
}
