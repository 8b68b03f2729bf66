package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aldis/internal/hub"
)

// onBothWith is onBoth with options.
func onBothWith(t *testing.T, opts Options, test func(*testing.T, *Store, *clock)) {
	t.Helper()
	for _, where := range []string{"file", "memory"} {
		t.Run(where, func(t *testing.T) {
			c := newClock()
			opts := opts
			opts.Now = c.Now
			if where == "file" {
				opts.Path = filepath.Join(t.TempDir(), "a.db")
			}
			test(t, open(t, opts), c)
		})
	}
}

// What is older than is to be kept goes; what somebody still waits for stays.
func TestRetainByAge(t *testing.T) {
	onBothWith(t, Options{Retain: 24 * time.Hour}, func(t *testing.T, s *Store, c *clock) {
		add(t, s, script(1), to("a"))
		settle(t, s, hub.Settlement{Agent: "a", Message: "s1", State: hub.Acknowledged})
		add(t, s, person(2), nil) // undecided
		add(t, s, script(3), to("a"))
		add(t, s, script(4), held("b"))
		add(t, s, script(5), to())
		must(t, s.SavePrompt(t.Context(), hub.Prompt{ID: "s5", Opened: c.Now(), State: hub.Open}))
		add(t, s, script(6), to())
		must(t, s.SavePrompt(t.Context(), hub.Prompt{ID: "s6", Opened: c.Now(), State: hub.Answered, Settled: true}))
		must(t, s.Outcome(t.Context(), "s6", hub.Sent{Refs: []hub.Ref{{Platform: "signal", Chat: "c", Key: "60"}}}, nil))
		keep := func() {
			t.Helper()
			_, err := s.Expire(t.Context(), time.Time{}, time.Time{}) // nothing is too old for an inbox
			must(t, err)
		}
		c.Add(24 * time.Hour)
		add(t, s, script(7), to())
		keep()
		expect(t, "after a day", logged(t, s, hub.LogFilter{}), "s7 s6 s5 s4 s3 p2 s1")
		c.Add(time.Second)
		keep()
		expect(t, "and a second", logged(t, s, hub.LogFilter{}), "s7 s5 s4 s3 p2")
		found, err := s.Find(t.Context(), "signal", "60")
		must(t, err)
		expect(t, "what the platform called one that has gone", found, []hub.Filed{})
		prompts, err := s.Prompts(t.Context(), time.Time{})
		must(t, err)
		expect(t, "prompts", len(prompts), 1)

		must(t, s.SavePrompt(t.Context(), hub.Prompt{ID: "s5", Rev: 1, State: hub.Answered, Settled: true}))
		settle(t, s, hub.Settlement{Agent: "a", Message: "s3", State: hub.Acknowledged})
		keep()
		expect(t, "once they are done", logged(t, s, hub.LogFilter{}), "s7 s4 p2")
	})
}

// While the clock is set back what was said since is found by its time, and
// deleted in time.
func TestClockSetBackForLong(t *testing.T) {
	onBothWith(t, Options{Retain: time.Hour}, func(t *testing.T, s *Store, c *clock) {
		said(t, s, "ahead", "a", "", "word")
		c.Add(-365 * 24 * time.Hour)
		said(t, s, "early", "a", "", "word")
		c.Add(30 * time.Minute)
		early := c.Now()
		c.Add(time.Minute)
		said(t, s, "late", "a", "", "word")
		indexed(t, s)
		expect(t, "until then", logged(t, s, hub.LogFilter{Until: early}), "early")
		expect(t, "until then, by a word", logged(t, s, hub.LogFilter{Until: early, Text: "word"}), "early")
		expect(t, "since then", logged(t, s, hub.LogFilter{Since: early, Until: c.Now()}), "late")
		c.Add(30 * time.Minute)
		expire(t, s, c)
		expect(t, "kept", logged(t, s, hub.LogFilter{}), "late ahead")
	})
}

// What may be sent once more is known again for a day, and a receipt that is
// due can still be sent, however little is kept.
func TestRetainWhatIsStillNeeded(t *testing.T) {
	onBothWith(t, Options{Retain: time.Hour, RetainBytes: 1}, func(t *testing.T, s *Store, c *clock) {
		hook := script(1)
		_, err := s.Once(t.Context(), []string{"key"}, hook.ID)
		must(t, err)
		call := script(2)
		call.Dedup = "call|key"
		for _, m := range []hub.Message{hook, call, person(3), person(4), script(5)} {
			add(t, s, m, to("a"))
			settle(t, s, hub.Settlement{Agent: "a", Message: m.ID, State: hub.Acknowledged})
		}
		must(t, s.ReceiptSent(t.Context(), "p3"))
		keep := func(after time.Duration) {
			t.Helper()
			c.Add(after)
			_, err := s.Expire(t.Context(), time.Time{}, time.Time{})
			must(t, err)
		}
		keep(2 * time.Hour)
		expect(t, "on the same day", logged(t, s, hub.LogFilter{}), "p4 p3 s2 s1")
		keep(onceFor)
		expect(t, "a day later", logged(t, s, hub.LogFilter{}), "p4")
		must(t, s.ReceiptSent(t.Context(), "p4"))
		keep(0)
		expect(t, "once the receipt was sent", logged(t, s, hub.LogFilter{}), "")
	})
}

// The record stays below its size: the oldest goes.
func TestRetainBySize(t *testing.T) {
	onBothWith(t, Options{RetainBytes: 2 << 20}, func(t *testing.T, s *Store, c *clock) {
		m := script(0)
		m.ID, m.Text = "open", strings.Repeat("words ", 2000)
		add(t, s, m, to("a"))
		for n := range 500 {
			m.ID = hub.MessageID(fmt.Sprint(n))
			add(t, s, m, to())
		}
		indexed(t, s)
		expire(t, s, c)
		used, err := s.pages(t.Context(), "(p.page_count - f.freelist_count) * z.page_size")
		must(t, err)
		entries, _, err := s.Log(t.Context(), hub.LogFilter{Limit: 200})
		must(t, err)
		if n := len(entries); used > 2<<20 || n < 50 || entries[0].ID != "499" || entries[n-1].ID != "open" {
			t.Errorf("%d bytes and %d messages are left, of which the newest is %s and the oldest %s", used, n, entries[0].ID, entries[n-1].ID)
		}
		before := logged(t, s, hub.LogFilter{Limit: 200})
		expire(t, s, c)
		expect(t, "a minute later", logged(t, s, hub.LogFilter{Limit: 200}), before)
	})
}

// The file gets smaller, also that of a record that was made by a program which
// knew nothing of that.
func TestTheFileShrinks(t *testing.T) {
	for _, old := range []bool{false, true} {
		t.Run(fmt.Sprint("old: ", old), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			if old {
				makeVersion(t, path, "00001_record.sql", "00002_channel.sql")
			}
			c := newClock()
			s := open(t, Options{Path: path, Now: c.Now})
			m := script(0)
			m.Text = strings.Repeat("words ", 10000)
			for n := range 100 {
				m.ID = hub.MessageID(fmt.Sprint(n))
				add(t, s, m, to())
			}
			must(t, s.Close())
			before, err := os.Stat(path)
			must(t, err)

			s = open(t, Options{Path: path, Now: c.Now, Retain: time.Hour})
			c.Add(2 * time.Hour)
			expire(t, s, c)
			said(t, s, "new", "a", "", "")
			must(t, s.Close())
			after, err := os.Stat(path)
			must(t, err)
			if after.Size() > before.Size()/3 {
				t.Errorf("the file had %d bytes and has %d", before.Size(), after.Size())
			}
			s = open(t, Options{Path: path, Now: c.Now})
			expect(t, "what is left", logged(t, s, hub.LogFilter{}), "new")
		})
	}
}

func TestRetentionReadsNothingThatItKeeps(t *testing.T) {
	s := open(t, Options{})
	got := plan(t, s, "SELECT id FROM record WHERE seq <= "+reach("$1")+" AND ts < $2 AND "+stale+" ORDER BY seq LIMIT $4", 1, 1, 1, 1)
	if !strings.Contains(got, "SEARCH record USING INTEGER PRIMARY KEY") || strings.Contains(got, "TEMP B-TREE") {
		t.Errorf("%s, want the order of the table itself", got)
	}
}
