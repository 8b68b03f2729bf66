package relay

import (
	"context"
	"strings"
	"time"

	"aldis/internal/hub"
	"aldis/internal/permit"
)

// noticeFor is how long a notice is worth another try.
const noticeFor = 10 * time.Minute

// A notice is what the hub tells somebody in its own name.
type notice struct {
	to   hub.Ref // the chat
	text string
}

// tell tells somebody something in the hub's own name, which an agent's may be
// part of. It does not wait: the notice goes out from a queue, and is dropped
// with a line in the log when that is full.
func (r *Relay) tell(to hub.Ref, text string) {
	to.Key = ""
	if to.Platform == "" || to == r.Operator && !r.Gate.MayReach(to.Platform, to.Chat) { // the operator's number may be another's now
		return
	}
	select {
	case r.notices <- notice{to, strings.TrimSpace(permit.Unmark(text))}:
	default:
		r.Log.Warn("notice dropped: too many")
	}
}

func (r *Relay) sendNotices(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-r.notices:
			r.sendNotice(ctx, n)
		}
	}
}

// sendNotice tries again for a while where the platform is not there: what
// became of a verdict should be heard.
func (r *Relay) sendNotice(ctx context.Context, n notice) {
	m := r.accept(hub.Message{Via: hub.ViaTool, Kind: hub.Text, Text: n.text, Ref: n.to})
	m.Dedup = "notice|" + string(m.ID)
	for {
		_, err := r.transmit(ctx, r.platformOf(n.to.Platform), m)
		if err == nil {
			return
		}
		k := hub.KindOf(err)
		if k != hub.Unavailable && k != hub.Limited || r.Now().Sub(m.Time) > noticeFor || ctx.Err() != nil {
			r.Log.Warn("notice", "platform", n.to.Platform, "err", err)
			return
		}
		pause(ctx, promptsEvery)
	}
}
