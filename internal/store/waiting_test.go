package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
)

func TestWaitingCountsWhatAnAgentWasNotHanded(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, c *clock) {
		for _, id := range []string{"1", "2", "3"} {
			add(t, s, hub.Message{ID: hub.MessageID(id), Via: hub.ViaNotify, Agent: "ci", Text: id}, to("deploy-bot", "crush-signal"))
		}
		must(t, s.Hold(t.Context(), "crush-signal", []hub.MessageID{"2", "3"}))
		_, err := s.Settle(t.Context(), []hub.Settlement{
			{Agent: "deploy-bot", Message: "1", State: hub.HandedOver}, {Agent: "deploy-bot", Message: "2", State: hub.Failed}, {Agent: "crush-signal", Message: "1", State: hub.Written},
		})
		must(t, err)
		got, err := s.Waiting(t.Context())
		must(t, err)
		if d := cmp.Diff([]Waiting{{"crush-signal", 3, 2}, {"deploy-bot", 1, 0}}, got); d != "" {
			t.Error(d)
		}
	})
}
