package main

import (
	"log/slog"
	"path/filepath"
	"testing"

	"aldis/internal/config"
	"aldis/internal/hub"
)

// BenchmarkReceiveWatched says what it costs to take a script's message in
// while nobody watches, with metrics, and with the log of messages too. The
// record is in memory, so that it is seen at all.
func BenchmarkReceiveWatched(b *testing.B) {
	for _, bb := range []struct {
		name string
		of   func(h *hubProcess) hub.Watchers
		log  bool
	}{
		{"nobody", func(*hubProcess) hub.Watchers { return nil }, false},
		{"metrics", func(h *hubProcess) hub.Watchers { return h.watch }, false},
		{"metrics and log", func(h *hubProcess) hub.Watchers { return h.watch }, true},
	} {
		b.Run(bb.name, func(b *testing.B) {
			c := config.Serve{}
			c.StateDir, c.Record, c.AuthToken, c.Host, c.LabelMessages = b.TempDir(), "off", "shared", "127.0.0.1", "never"
			if bb.log {
				c.JSONLLog = filepath.Join(b.TempDir(), "messages.jsonl")
			}
			h, err := openHub(b.Context(), c, slog.New(slog.DiscardHandler), joinOperator)
			if err != nil {
				b.Fatal(err)
			}
			h.relay.Watch = bb.of(h)
			if err := h.relay.Start(b.Context()); err != nil {
				b.Fatal(err)
			}
			m := hub.Message{Via: hub.ViaNotify, Kind: hub.Text, Agent: "cron", Subject: "main", Text: "build 214 is green"}
			for b.Loop() {
				if _, err := h.relay.Receive(b.Context(), m); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			if err := h.close(); err != nil {
				b.Error(err)
			}
			if h.journal != nil && h.journal.Dropped() > 0 {
				b.Logf("%d lines were not written", h.journal.Dropped())
			}
		})
	}
}
