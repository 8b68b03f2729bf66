package relay

import (
	"aldis/internal/gate"
	"aldis/internal/hub"
)

// offerPairing tells the stranger who wrote m a code, if the gate has one for
// them. It says nothing else of who is behind this.
func (r *Relay) offerPairing(m hub.Message) {
	if code, ok := r.Gate.Offer(m); ok {
		r.tell(m.Ref, "Whoever runs this has to let you in first. Give them this code: "+code)
	}
}

// Welcome tells somebody that they were let in by their code.
func (r *Relay) Welcome(x gate.Pairing) {
	r.tell(hub.Ref{Platform: x.Platform, Chat: x.Chat}, "You are let in.")
}

// Chat parses a chat id as a person types it, which is a direct chat's if it
// names somebody. It fails with Invalid, or Unavailable without a platform.
func (r *Relay) Chat(spelled string) (hub.Ref, error) {
	if spelled == "" {
		return hub.Ref{}, hub.Errorf(hub.Invalid, "an id is missing")
	}
	p, chat, err := r.platform(hub.ChatID(spelled))
	if err != nil {
		return hub.Ref{}, err
	}
	return hub.Ref{Platform: p.ID(), Chat: chat}, nil
}
