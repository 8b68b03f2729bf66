package relay

import (
	"context"
	"time"

	"aldis/internal/hub"
)

const (
	receiptEvery = time.Minute
	receiptWait  = 30 * time.Second
	receiptPage  = 64
)

// sendReceipts sends the read receipts that are due. The record is their queue;
// sent are those that it does not know to be out of it.
func (r *Relay) sendReceipts(ctx context.Context) {
	sent := make(map[hub.MessageID]bool)
	every(ctx, receiptEvery, r.receipts, func() {
		for {
			due, err := r.Record.DueReceipts(ctx, receiptPage)
			if err != nil && ctx.Err() == nil {
				r.Log.Error("look for receipts", "err", err)
			}
			if !r.sendPage(ctx, due, sent) || len(due) < receiptPage {
				return
			}
		}
	})
}

// sendPage sends some, and reports whether none of them is left. One that can't
// be sent now keeps back no other.
func (r *Relay) sendPage(ctx context.Context, due []hub.Message, sent map[hub.MessageID]bool) bool {
	left := false
	for _, m := range due {
		if !sent[m.ID] {
			err := r.sendReceipt(ctx, m)
			if err != nil && (hub.KindOf(err) != hub.Unavailable || ctx.Err() != nil) {
				return false
			}
			if err != nil {
				left = true
				continue
			}
		}
		sent[m.ID] = true
		if err := r.Record.ReceiptSent(ctx, m.ID); err != nil {
			r.Log.Error("record a read receipt", "message", m.ID, "err", err)
			return false
		}
		delete(sent, m.ID)
	}
	return !left
}

// sendReceipt sends one. One that fails is not worth another try, unless the
// platform is not there at all or takes nothing for now: that alone is an error.
func (r *Relay) sendReceipt(ctx context.Context, m hub.Message) error {
	p, ok := r.platformOf(m.Ref.Platform).(hub.Receipter)
	if !ok {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, receiptWait)
	defer cancel()
	err := p.SendReceipt(within, m)
	if k := hub.KindOf(err); err != nil && (k == hub.Unavailable || k == hub.Limited || ctx.Err() != nil) {
		return err
	}
	if err != nil {
		r.Log.Warn("read receipt", "message", m.ID, "platform", m.Ref.Platform, "err", err)
	}
	return nil
}
