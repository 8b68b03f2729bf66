package tools_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aldis/internal/hub"
)

func TestErrorsAreForTheModelOrForTheLog(t *testing.T) {
	disk := errors.New("read /home/kim/db.sqlite: input/output error")
	for _, tt := range []struct {
		name      string
		err       error
		says, log string
	}{
		{"a wrong cursor", hub.Errorf(hub.Invalid, "the cursor is of another query"), "the cursor is of another query", "err=invalid"},
		{"not there", hub.Errorf(hub.NotFound, "there is no such message"), "there is no such message", "err=not_found"},
		{"busy", &hub.Error{Kind: hub.Unavailable, Msg: "Signal writes too much: try again", Err: disk}, "Signal writes too much: try again; the log of the server says more", "input/output error"},
		{"busy, with the reason in its words", hub.Errorf(hub.Unavailable, "the database cannot be read: %w", disk), "the database cannot be read; the log of the server says more", "input/output error"},
		{"anything else", fmt.Errorf("open: %w", disk), "the history could not be read: the log of the server says why. Asking again will not help before that is mended", "input/output error"},
		{"our fault", &hub.Error{Kind: hub.Internal, Msg: "oops", Err: disk}, "the history could not be read: the log of the server says why. Asking again will not help before that is mended", "err=internal"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, j := setup(&book{err: tt.err})
			for name, c := range connections(t, s) {
				out, isError := call(t, c, "signal_get_message", `{"messageId":"m"}`)
				if !isError || out != tt.says {
					t.Errorf("over %s: error %v, %q, want %q", name, isError, out, tt.says)
				}
			}
			if log := j.String(); !strings.Contains(log, tt.log) {
				t.Errorf("no %q in the log:\n%s", tt.log, log)
			}
		})
	}
}

func TestAPanicIsAnError(t *testing.T) {
	s, j := setup(&book{hold: func(context.Context) error { panic("page 7") }})
	for name, c := range connections(t, s) {
		if out, isError := call(t, c, "signal_get_message", `{"messageId":"m"}`); !isError || strings.Contains(out, "page 7") {
			t.Errorf("over %s: error %v, %s", name, isError, out)
		}
	}
	if log := j.String(); !strings.Contains(log, "panic: page 7") || !strings.Contains(log, "fake_test.go") {
		t.Errorf("the log does not say where: %s", log)
	}
}

func TestAroundStandsAlone(t *testing.T) {
	s, _ := setup(&book{})
	c := connections(t, s)["stdio"]
	for _, other := range []string{`"cursor":"c"`, `"before":1`, `"after":1`, `"direction":"older"`} {
		out, isError := call(t, c, "signal_get_messages", `{"conversationId":"c","around":"m",`+other+`}`)
		if !isError || !strings.Contains(out, "do not go together") {
			t.Errorf("with %s: %s", other, out)
		}
	}
}

// Whatever is asked, and whatever comes of it, the log has one line about it
// and no private word.
func TestTheLogHoldsNothingPrivate(t *testing.T) {
	b := &book{}
	s, j := setup(b)
	calls := []struct{ tool, args, want string }{
		{"signal_list_conversations", `{"query":"Zoë"}`, "scope=all rows=1 bytes="},
		{"signal_get_messages", `{"conversationId":"` + chat + `"}`, "scope=conversation:82277681241d rows=2 bytes="},
		{"signal_search_messages", `{"query":"needle"}`, "scope=all rows=1 bytes="},
		{"signal_search_messages", `{"query":"needle","conversationId":"` + chat + `"}`, "scope=conversation:82277681241d rows=1 bytes="},
		{"signal_get_message", `{"messageId":"` + reply + `"}`, "scope=conversation:82277681241d rows=1 bytes="},
		{"signal_get_message", `{"messageId":"` + hello + `"}`, "err=not_found"},
		{"signal_get_message", `{"messageId":"+491511234567"}`, "err=not_found"},
		{"signal_get_messages", `{"needle":"meet"}`, "err=invalid"},
		{"signal_search_messages", `{"query":"needle","direction":"Kim"}`, "err=invalid"},
	}
	for name, c := range connections(t, s) {
		for _, tt := range calls {
			before := j.String()
			_, _ = call(t, c, tt.tool, tt.args)
			line := strings.TrimPrefix(j.String(), before)
			if strings.Count(line, "\n") != 1 || !strings.Contains(line, `level=INFO msg="history read"`) || !strings.Contains(line, "tool="+tt.tool) || !strings.Contains(line, tt.want) {
				t.Errorf("%s %s over %s: %q, want %q in one line", tt.tool, tt.args, name, line, tt.want)
			}
		}
	}
	log := j.String()
	for _, secret := range secrets {
		if strings.Contains(log, secret) {
			t.Errorf("%q is in the log:\n%s", secret, log)
		}
	}
	if !strings.Contains(log, "who=stdio client=tester") || !strings.Contains(log, "who=nobody client=") {
		t.Errorf("the log does not say who asked:\n%s", log)
	}
}

const getMessage = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"signal_get_message","arguments":{"messageId":"m"}}}` + "\n"

const greeting = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// holding waits until ctx ends, as a search through very much does.
func holding(ctx context.Context) error {
	<-ctx.Done()
	return fmt.Errorf("scan: %w", ctx.Err())
}

func TestACallHasThirtySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, j := setup(&book{hold: holding})
		begun := time.Now()
		var out strings.Builder
		if err := s.ServeStdio(t.Context(), io.NopCloser(strings.NewReader(greeting+fmt.Sprintf(getMessage, 1))), &out); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != 30*time.Second {
			t.Errorf("it took %s", took)
		}
		if !strings.Contains(out.String(), "took longer than 30s and was given up") {
			t.Errorf("answer %s", out.String())
		}
		if log := j.String(); strings.Contains(log, "ERROR") {
			t.Errorf("log %s", log)
		}
	})
}

// Four run, sixteen wait, and the rest is told to come back: at once.
func TestManyCallsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		b := &book{hold: func(context.Context) error { <-release; return hub.Errorf(hub.NotFound, "gone") }}
		s, _ := setup(b)
		in, host := io.Pipe()
		var out journal
		ended := make(chan error)
		go func() { ended <- s.ServeStdio(t.Context(), in, &out) }()
		if _, err := io.WriteString(host, greeting); err != nil {
			t.Fatal(err)
		}
		for i := range 25 {
			if _, err := fmt.Fprintf(host, getMessage, i+1); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := strings.Count(out.String(), "too many calls at once"); n != 7 {
			t.Errorf("%d were refused, want 7", n)
		}
		b.mu.Lock()
		running := len(b.asked)
		b.mu.Unlock()
		if running != 2 {
			t.Errorf("%d run, want 2", running)
		}
		close(release)
		_ = host.Close()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), `"text":"gone"`); n != 18 {
			t.Errorf("%d were answered, want 18", n)
		}
	})
}
