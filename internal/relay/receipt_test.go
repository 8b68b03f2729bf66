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
