package tools_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What a shell pipes in is answered, although it has ended before the first
// answer. The golden file is all that goes to standard output.
func TestStdioAnswersWhatWasAskedBeforeTheEnd(t *testing.T) {
	s, _ := setup(&book{})
	in := greeting + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"signal_list_conversations","arguments":{}}}` + "\n"
	var out journal
	if err := s.ServeStdio(t.Context(), io.NopCloser(strings.NewReader(in)), &out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("%q is no JSON", line)
		}
	}
	golden(t, "stdio.txt", "> "+strings.ReplaceAll(strings.TrimSpace(in), "\n", "\n> ")+"\n\n< "+strings.ReplaceAll(strings.TrimSpace(out.String()), "\n", "\n< ")+"\n")
}

func TestStdioEndsCleanly(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		out      func(context.Context) io.Writer
	}{
		{"a host that says nothing", "", func(context.Context) io.Writer { return io.Discard }},
		{"a host that does not read", greeting, func(ctx context.Context) io.Writer { return never{ctx} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := setup(&book{})
				in, host := io.Pipe()
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- s.ServeStdio(ctx, in, tt.out(t.Context())) }()
				if _, err := io.WriteString(host, tt.in); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A host that has closed its end and does not read its answers keeps nobody.
func TestStdioEndsAlthoughNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := setup(&book{})
		ctx, free := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.ServeStdio(t.Context(), io.NopCloser(strings.NewReader(greeting)), never{ctx}) }()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(2 * time.Minute):
			t.Error("it waits still")
		}
		free()
	})
}

func TestStdioTellsThatAHostSpeaksNoJSON(t *testing.T) {
	s, _ := setup(&book{})
	var out journal
	err := s.ServeStdio(t.Context(), io.NopCloser(strings.NewReader(greeting+"hello\n")), &out)
	if err == nil || !strings.Contains(err.Error(), "serve the host on standard input and output") {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "serverInfo") {
		t.Errorf("what it asked before was answered %q", out.String())
	}
}

// never is a pipe that is full until the test ends.
type never struct{ ctx context.Context }

func (n never) Write([]byte) (int, error) {
	<-n.ctx.Done()
	return 0, io.ErrClosedPipe
}
