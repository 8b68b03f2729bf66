package phone

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"aldis/internal/httpd"
	"aldis/internal/hub"
)

const (
	maxPictures = 4
	maxEmoji    = 64 // bytes
	maxPostID   = 64 // bytes
)

// A post is what the page sends when somebody has written, reacted, edited or
// deleted. It comes again, with the same ID, until it was answered.
type post struct {
	ID       string          `json:"id"`
	Chat     hub.ChatID      `json:"chat"`
	Kind     hub.MessageKind `json:"kind"`
	Text     string          `json:"text"`     // or the emoji
	Removed  bool            `json:"removed"`  // the reaction is taken back
	Quote    string          `json:"quote"`    // key of what it answers or reacts to
	Target   string          `json:"target"`   // key of what it edits or deletes
	Pictures []upload        `json:"pictures"` // of a text
}

// A job is a post on its way to Run.
type job struct {
	post post
	done chan error // has room for the answer
}

var errDown = &hub.Error{Kind: hub.Unavailable, Msg: "the hub is not taking messages right now; post it again with the same id"}

// readJSON reads the body of r into v.
func readJSON(r *http.Request, v any) error {
	raw, err := httpd.ReadJSON(r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return hub.Errorf(hub.Invalid, "the body is not the JSON that %s takes", r.URL.Path)
	}
	return nil
}

// check returns w as it is taken, or an error of kind Invalid.
func (w post) check() (post, error) {
	w.Text = hub.StripControl(strings.ToValidUTF8(w.Text, "\uFFFD"))
	_, known := people[w.Chat]
	switch {
	case w.ID == "" || len(w.ID) > maxPostID:
		return w, hub.Errorf(hub.Invalid, "id is 1 to %d bytes, new for each message and the same when it is posted again", maxPostID)
	case !known:
		return w, hub.Errorf(hub.Invalid, "chat is operator or stranger")
	case len(w.Text) > maxText:
		return w, hub.Errorf(hub.Invalid, "the text is longer than %d bytes", maxText)
	case len(w.Pictures) > maxPictures:
		return w, hub.Errorf(hub.Invalid, "a message has at most %d pictures", maxPictures)
	}
	return w, w.checkKind()
}

func (w post) checkKind() error {
	blank := strings.TrimSpace(w.Text) == ""
	switch w.Kind {
	case hub.Text:
		if blank && len(w.Pictures) == 0 {
			return hub.Errorf(hub.Invalid, "there is neither text nor a picture")
		}
	case hub.Reaction:
		if blank || len(w.Text) > maxEmoji || w.Quote == "" {
			return hub.Errorf(hub.Invalid, "a reaction is one emoji and the key of a message")
		}
	case hub.Edit:
		if blank || w.Target == "" {
			return hub.Errorf(hub.Invalid, "an edit is a text and the key of a message")
		}
	case hub.Deletion:
		if w.Target == "" {
			return hub.Errorf(hub.Invalid, "a deletion has the key of a message")
		}
	default:
		return hub.Errorf(hub.Invalid, "kind is text, reaction, edit or deletion")
	}
	return nil
}

// receive serves POST /phone/messages. 204 means that the hub has recorded it.
func (p *Phone) receive(rw http.ResponseWriter, r *http.Request) error {
	var w post
	if err := readJSON(r, &w); err != nil {
		return err
	}
	w, err := w.check()
	if err != nil {
		return err
	}
	if err := p.pass(r.Context(), w); err != nil {
		return err
	}
	rw.WriteHeader(http.StatusNoContent)
	return nil
}

// pass has Run take w, and waits for that.
func (p *Phone) pass(ctx context.Context, w post) error {
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	if ended == nil {
		return errDown
	}
	j := job{w, make(chan error, 1)}
	select {
	case p.posts <- j:
	case <-ended:
		return errDown
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take brings w to r, unless it has been there. What is written has its bubble
// first, so that a receipt that is quicker than we are finds it; the rest shows
// once it is recorded.
func (p *Phone) take(ctx context.Context, r hub.Receiver, w post) error {
	t, m, pics, err := p.prepare(w)
	if err != nil || t.Done {
		return err
	}
	if err := p.commit(func(s *state) (*line, error) { return s.begin(t, m, pics), nil }); err != nil {
		return err
	}
	receipt, err := r.Receive(ctx, m)
	if err != nil {
		return &hub.Error{Kind: hub.Unavailable, Msg: "the hub could not record it; post it again with the same id", Err: err}
	}
	return p.commit(func(s *state) (*line, error) { return s.finish(t, m, receipt), nil })
}
