package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"aldis/internal/hub"
)

// wanted is what hub.LogFilter says, in plain words: the slow way.
func wanted(f hub.LogFilter, e hub.LogEntry) bool {
	party := func(name string) bool { return e.Source == name || e.Target == name }
	for word := range strings.FieldsSeq(f.Text) {
		if !slices.Contains(strings.Fields(e.Text), word) {
			return false
		}
	}
	return (f.Source == "" || e.Source == f.Source) && (f.Target == "" || e.Target == f.Target) &&
		(f.ParticipantA == "" || party(f.ParticipantA)) && (f.ParticipantB == "" || party(f.ParticipantB)) && (f.Via == "" || e.Via == f.Via) &&
		!slices.ContainsFunc(f.Exclude, party) &&
		(f.Since.IsZero() || !e.Time.Before(f.Since)) && (f.Until.IsZero() || !e.Time.After(f.Until))
}

// Whatever is asked for, the log returns just that, and its pages, in either
// direction, are all of it and nothing twice.
func TestLogModel(t *testing.T) {
	names := rapid.SampledFrom([]string{"", "", "a", "b", "c"})
	words := rapid.SampledFrom([]string{"", "", "red", "blue", "red blue"})
	ways := rapid.SampledFrom([]hub.Via{hub.ViaTool, hub.ViaNotify})
	rapid.Check(t, func(rt *rapid.T) {
		c := newClock()
		s, err := Open(t.Context(), Options{Now: c.Now})
		must(t, err)
		defer s.Close()
		var all []hub.LogEntry // newest first
		for i := range rapid.IntRange(0, 20).Draw(rt, "messages") {
			c.Add(time.Duration(rapid.IntRange(0, 2).Draw(rt, "minutes")) * time.Minute)
			m := hub.Message{
				ID: hub.MessageID(fmt.Sprint(i)), Via: ways.Draw(rt, "via"), Kind: hub.Text, Text: words.Draw(rt, "text"),
				Agent: hub.AgentID(names.Draw(rt, "source")), To: hub.AgentID(names.Draw(rt, "target")),
			}
			add(t, s, m, to())
			all = slices.Insert(all, 0, hub.LogEntry{ID: m.ID, Time: c.Now(), Via: m.Via, Source: source(m), Target: string(m.To), Text: m.Text})
		}
		indexed(t, s)
		f := hub.LogFilter{
			Source: names.Draw(rt, "by"), Target: names.Draw(rt, "to"), ParticipantA: names.Draw(rt, "one"), ParticipantB: names.Draw(rt, "other"),
			Text: words.Draw(rt, "words"), Limit: rapid.IntRange(1, 7).Draw(rt, "limit"),
		}
		if rapid.Bool().Draw(rt, "excludes") {
			f.Exclude = []string{rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "exclude")}
		}
		if rapid.Bool().Draw(rt, "timed") {
			f.Since = newClock().Now().Add(time.Duration(rapid.IntRange(0, 20).Draw(rt, "since")) * time.Minute)
			f.Until = f.Since.Add(time.Duration(rapid.IntRange(0, 20).Draw(rt, "until")) * time.Minute)
		}
		var want []string
		for _, e := range all {
			if wanted(f, e) {
				want = append(want, string(e.ID))
			}
		}
		if got := pages(t, s, f); !slices.Equal(got, want) {
			rt.Fatalf("%+v: %v, want %v", f, got, want)
		}
		if len(want) > 0 { // and back, from the oldest
			f.After = hub.MessageID(want[len(want)-1])
			got := pages(t, s, f)
			if !slices.Equal(got, want[:len(want)-1]) {
				rt.Fatalf("after %s: %v, want %v", f.After, got, want[:len(want)-1])
			}
		}
	})
}

// pages returns the ids of all pages, newest first, from f on.
func pages(t *testing.T, s *Store, f hub.LogFilter) (ids []string) {
	t.Helper()
	for more := true; more; {
		entries, again, err := s.Log(t.Context(), f)
		must(t, err)
		if more = again; more && len(entries) != f.Limit {
			t.Fatalf("a page of %d, want %d: there are more", len(entries), f.Limit)
		}
		var page []string
		for _, e := range entries {
			page = append(page, string(e.ID))
		}
		switch {
		case len(entries) == 0:
		case f.After != "":
			ids, f.After = append(page, ids...), entries[0].ID
		default:
			ids, f.Before = append(ids, page...), entries[len(entries)-1].ID
		}
	}
	return ids
}
