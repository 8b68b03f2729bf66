package tools_test

import (
	"io"
	"log"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"aldis/internal/hubtest"
)

// A host that asks and does not read holds nothing for long.
func TestAHostThatDoesNotReadIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := setup(&book{})
		h := s.Handler()
		begun, ended := time.Now(), make(chan time.Time, 1)
		srv := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(w, r)
			ended <- time.Now()
		})}
		l := hubtest.NewPipeListener()
		served := make(chan error, 1)
		go func() { served <- srv.Serve(l) }()
		c, err := l.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r := request(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "2025-11-25")
		r.URL.Host, r.RequestURI = "localhost", ""
		if err := r.Write(c); err != nil {
			t.Fatal(err)
		}
		if took := (<-ended).Sub(begun); took != 30*time.Second {
			t.Errorf("it was cut after %s, want 30s", took)
		}
		_ = c.Close()
		_ = srv.Close()
		<-served
	})
}
