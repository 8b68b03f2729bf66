package phone

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"aldis/internal/httpd"
	"aldis/internal/hub"
)

// The bounds and times of the streams that pages watch.
const (
	maxViewers = 16
	maxQueue   = 256 // changes that a page is behind; past them it is cut, and starts afresh
	lookEvery  = 500 * time.Millisecond
	aliveEvery = 15 * time.Second
)

// A viewer is one page that is open.
type viewer struct {
	queue chan event // closed when it is cut
}

// An event is one of the stream.
type event struct {
	seq  uint64 // zero: of no place in the order
	name string
	data any
}

// A snapshot is all that a page shows, its first event.
type snapshot struct {
	Bubbles  []bubble     `json:"bubbles"`
	Received []received   `json:"received"`
	Agents   []AgentState `json:"agents"`
	Join     []JoinLine   `json:"join"`
}

// watch adds a viewer, and returns what it is to show first, as of which
// change. Of agents it knows nothing.
func (p *Phone) watch() (*viewer, uint64, snapshot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended == nil:
		return nil, 0, snapshot{}, errDown
	case len(p.viewers) >= maxViewers:
		return nil, 0, snapshot{}, hub.Errorf(hub.Limited, "%d pages show this phone already: close one", maxViewers)
	}
	v := &viewer{make(chan event, maxQueue)}
	p.viewers[v] = struct{}{}
	now := snapshot{Bubbles: []bubble{}, Received: []received{}, Join: p.Join}
	for _, list := range p.state.chats {
		now.Bubbles = append(now.Bubbles, list...)
	}
	for _, list := range p.state.received {
		now.Received = append(now.Received, list...)
	}
	return v, p.seq, now, nil
}

// publish tells the viewers of c. One that is too far behind is cut. p.mu is
// held.
func (p *Phone) publish(c change) {
	p.seq++
	for v := range p.viewers {
		select {
		case v.queue <- event{p.seq, "change", c}:
		default:
			p.cut(v)
		}
	}
}

// cut ends a viewer's httpd.Events. p.mu is held.
func (p *Phone) cut(v *viewer) {
	if _, ok := p.viewers[v]; ok {
		delete(p.viewers, v)
		close(v.queue)
	}
}

func (p *Phone) leave(v *viewer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut(v)
}

// events serves GET /phone/events: a snapshot, then each change.
func (p *Phone) events(w http.ResponseWriter, r *http.Request) error {
	v, seq, all, err := p.watch()
	if err != nil {
		return err
	}
	defer p.leave(v)
	all.Agents = p.agents()
	s := httpd.NewEvents(w)
	if err := send(s, event{seq, "state", all}); err == nil {
		p.follow(r, s, v, all.Agents)
	}
	return nil
}

// agents is never nil: the page is to hear of none, too.
func (p *Phone) agents() []AgentState { return append([]AgentState{}, p.Agents()...) }

// follow writes until the page has gone, or is cut.
func (p *Phone) follow(r *http.Request, s httpd.Events, v *viewer, agents []AgentState) {
	look, alive := time.NewTicker(lookEvery), time.NewTicker(aliveEvery)
	defer look.Stop()
	defer alive.Stop()
	var err error
	for err == nil {
		select {
		case <-r.Context().Done():
			return
		case e, more := <-v.queue:
			if !more {
				return
			}
			err = send(s, e)
		case <-look.C:
			if now := p.agents(); !slices.Equal(now, agents) {
				agents = now
				err = send(s, event{name: "change", data: map[string]any{"agents": agents}})
			}
		case <-alive.C:
			err = s.Write(": alive\n\n")
		}
	}
}

func send(s httpd.Events, e event) error {
	data, err := json.Marshal(e.data)
	if err != nil {
		return err
	}
	var b strings.Builder
	if e.seq > 0 {
		fmt.Fprintf(&b, "id: %d\n", e.seq)
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e.name, data)
	return s.Write(b.String())
}
