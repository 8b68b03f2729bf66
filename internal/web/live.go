package web

import (
	"fmt"
	"net/http"
	"time"

	"aldis/internal/httpd"
	"aldis/internal/hub"
)

const (
	maxViewers = 16
	lookEvery  = 500 * time.Millisecond
	aliveEvery = 15 * time.Second
)

// live serves GET /admin/live: how many changes the record has seen, now and
// whenever that has grown. A page reads itself anew when it is not up to that.
func (p *Pages) live(w http.ResponseWriter, r *http.Request) error {
	defer p.viewers.Add(-1)
	if p.viewers.Add(1) > maxViewers {
		return hub.Errorf(hub.Limited, "%d pages watch the record already: close one", maxViewers)
	}
	seen := p.Record.Changes()
	s := httpd.NewEvents(w)
	look, alive := time.NewTicker(lookEvery), time.NewTicker(aliveEvery)
	defer look.Stop()
	defer alive.Stop()
	err := s.Write(changed(seen))
	for err == nil {
		select {
		case <-r.Context().Done():
			return nil
		case <-p.Ended:
			return nil
		case <-look.C:
			if now := p.Record.Changes(); now != seen {
				seen = now
				err = s.Write(changed(seen))
			}
		case <-alive.C:
			err = s.Write(": alive\n\n")
		}
	}
	return nil // the page has gone
}

func changed(n uint64) string { return fmt.Sprintf("event: changed\ndata: %d\n\n", n) }
