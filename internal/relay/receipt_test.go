package relay_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
	"aldis/internal/hubtest"
)

// limitedPlatform refuses read receipts for a while, as Signal does to who
// writes too much.
type limitedPlatform struct {
	*hubtest.Platform
	until time.Time
}

func (p limitedPlatform) SendReceipt(ctx context.Context, m hub.Message) error {
	if time.Now().Before(p.until) {
		return hub.Errorf(hub.Limited, "paused")
	}
	return p.Platform.SendReceipt(ctx, m)
}

func TestReceiptWaitsUntilThePlatformTakesItAgain(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("desk")
		f.receive(from("in"))
		f.takes("desk")
		time.Sleep(time.Hour)
		if d := cmp.Diff([]hub.MessageID{"m001"}, f.platform.Receipts()); d != "" {
			t.Errorf("receipts (-want +got):\n%s", d)
		}
	}, func(f *fixture) {
		f.Platforms = []hub.Platform{limitedPlatform{f.platform, time.Now().Add(5 * time.Minute)}}
	})
}

// pickyPlatform can send no read receipt to one person.
type pickyPlatform struct{ *hubtest.Platform }

func (p pickyPlatform) SendReceipt(ctx context.Context, m hub.Message) error {
	if m.Ref.Key == "1" {
		return hub.Errorf(hub.Unavailable, "the recipient's keys are not valid")
	}
	return p.Platform.SendReceipt(ctx, m)
}

func TestReceiptThatCannotBeSentKeepsBackNoOther(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("desk")
		f.receive(from("1"))
		f.receive(from("2"))
		f.takes("desk")
		time.Sleep(time.Hour)
		if d := cmp.Diff([]hub.MessageID{"m002"}, f.platform.Receipts()); d != "" {
			t.Errorf("receipts (-want +got):\n%s", d)
		}
	}, func(f *fixture) { f.Platforms = []hub.Platform{pickyPlatform{f.platform}} })
}

// forgetful is a record that can't note for a while that a receipt is out.
type forgetful struct {
	hub.Record
	until time.Time
}

func (r forgetful) ReceiptSent(ctx context.Context, id hub.MessageID) error {
	if time.Now().Before(r.until) {
		return hub.Errorf(hub.Unavailable, "disk full")
	}
	return r.Record.ReceiptSent(ctx, id)
}

func TestReceiptGoesOutOnceThoughTheRecordCannotNoteIt(t *testing.T) {
	start(t, func(f *fixture) {
		f.sessions.Connect("desk")
		f.receive(from("1"))
		f.receive(from("2"))
		f.takes("desk")
		time.Sleep(time.Hour)
		if d := cmp.Diff([]hub.MessageID{"m001", "m002"}, f.platform.Receipts()); d != "" {
			t.Errorf("receipts (-want +got):\n%s", d)
		}
	}, func(f *fixture) { f.Record = forgetful{f.store, time.Now().Add(10 * time.Minute)} })
}
