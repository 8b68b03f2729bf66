package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"aldis/internal/config"
	"aldis/internal/httpd"
	"aldis/internal/hub"
)

// logCmd is aldis log: the record, as far as the filters let it through.
type logCmd struct {
	config.HubAdmin
	Since   string   `placeholder:"TIME" help:"From then on: a date, a time like 2026-03-01T12:00:00Z, or how long ago, like 2h or 7d."`
	Until   string   `placeholder:"TIME" help:"Up to then."`
	Source  string   `placeholder:"NAME" help:"Said by that agent, script, hook or person."`
	Target  string   `placeholder:"NAME" help:"Said to that agent or chat."`
	With    []string `sep:"none" placeholder:"NAME" help:"Said by it or to it; twice: between the two."`
	Exclude []string `sep:"none" placeholder:"NAME" help:"Neither said by it nor to it; repeat for more."`
	Via     string   `enum:"platform,tool,notify,hook,prompt," default:"" placeholder:"WAY" help:"Came in that way: platform, tool, notify, hook or prompt."`
	Text    string   `placeholder:"WORDS" help:"Has all these words, the last one perhaps only begun."`
	Limit   int      `default:"50" placeholder:"N" help:"At most so many, the newest."`
	JSON    bool     `help:"Print each message whole, as a line of JSON."`
	Follow  bool     `short:"f" help:"Go on with what comes in, until Ctrl-C."`
}

const (
	maxLogLimit = 100_000 // that are kept in memory, to be printed oldest first
	logAPIMost  = 200     // in one answer
	followEvery = time.Second
	textShown   = 500 // bytes of a message in a table
)

func (c *logCmd) Run(ctx context.Context, e env) error {
	f, err := c.filter(time.Now())
	if err != nil {
		return usageError{err}
	}
	messages, more, err := c.newest(ctx, f, newProgress(e))
	if err != nil {
		return err
	}
	if more {
		fmt.Fprintf(e.stderr, "aldis: there are older ones: --limit says how many\n")
	}
	if err := c.print(e, messages); err != nil || !c.Follow {
		return err
	}
	return c.follow(ctx, e, f, messages)
}

// filter is what the flags ask for.
func (c *logCmd) filter(now time.Time) (f hub.LogFilter, err error) {
	if len(c.With) > 2 {
		return f, errors.New("--with: a message is between two at most")
	}
	if c.Limit < 1 || c.Limit > maxLogLimit {
		return f, fmt.Errorf("--limit: want 1 to %d, got %d", maxLogLimit, c.Limit)
	}
	with := append(slices.Clone(c.With), "", "")
	f = hub.LogFilter{
		Source: c.Source, Target: c.Target, ParticipantA: with[0], ParticipantB: with[1], Exclude: c.Exclude,
		Via: hub.Via(c.Via), Text: c.Text,
	}
	if f.Since, err = parseMoment(c.Since, now); err != nil {
		return f, fmt.Errorf("--since: %w", err)
	}
	if f.Until, err = parseMoment(c.Until, now); err != nil {
		return f, fmt.Errorf("--until: %w", err)
	}
	return f, nil
}

// parseMoment reads a time, or how long ago it was. A date is its first moment,
// where now is. Empty is the zero time.
func parseMoment(s string, now time.Time) (t time.Time, err error) {
	if s == "" {
		return t, nil
	}
	if t, err = time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", time.DateTime} {
		if t, err = time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	var ago config.Age
	if err := ago.UnmarshalText([]byte(s)); err != nil {
		return t, fmt.Errorf("want a date like 2026-03-01, a time like 2026-03-01T12:00:00Z, or how long ago, like 2h or 7d; got %q", s)
	}
	return now.Add(-time.Duration(ago)), nil
}

// page asks the hub for a page of the log.
func (c *logCmd) page(ctx context.Context, f hub.LogFilter) (p logPage, err error) {
	err = adminClient{c.HubAdmin}.do(ctx, http.MethodGet, "/api/log?"+logValues(f).Encode(), nil, &p)
	return p, err
}

// newest returns the newest messages, oldest first.
func (c *logCmd) newest(ctx context.Context, f hub.LogFilter, shown *progress) (messages []logMessage, more bool, err error) {
	for more = true; more && len(messages) < c.Limit; {
		f.Limit = min(c.Limit-len(messages), logAPIMost)
		p, err := c.page(ctx, f)
		if err != nil {
			return nil, false, err
		}
		messages, more = append(messages, p.Messages...), p.More
		shown.say("aldis: %d messages so far", len(messages))
		if n := len(messages); n > 0 {
			f.Before = messages[n-1].ID
		}
	}
	slices.Reverse(messages)
	return messages, more, nil
}

// follow prints what comes in after messages until ctx ends.
func (c *logCmd) follow(ctx context.Context, e env, f hub.LogFilter, messages []logMessage) error {
	f.Limit = logAPIMost
	t := &tail{logCmd: c, env: e, filter: f, pauses: &backoff.ExponentialBackOff{
		InitialInterval: followEvery, Multiplier: 2, MaxInterval: 5 * time.Second, RandomizationFactor: 0.1,
	}}
	t.note(messages)
	for {
		wait, err := t.step(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}

// A tail is a log that goes on.
type tail struct {
	*logCmd
	env    env
	filter hub.LogFilter
	last   time.Time // of the last message that was printed
	away   bool      // the hub is, and that was said
	pauses *backoff.ExponentialBackOff
}

// note has the tail go on after messages.
func (t *tail) note(messages []logMessage) {
	if n := len(messages); n > 0 {
		t.filter.After, t.last = messages[n-1].ID, messages[n-1].Time
	}
}

// step prints what has come in, and says when to look again. A hub that is away
// is waited for.
func (t *tail) step(ctx context.Context) (wait time.Duration, err error) {
	p, err := t.page(ctx, t.filter)
	refusal, refused := errors.AsType[*httpd.StatusError](err)
	switch {
	case err == nil:
		t.away = false
		t.pauses.Reset()
		slices.Reverse(p.Messages)
		t.note(p.Messages)
		if !p.More {
			wait = followEvery
		}
		return wait, t.print(t.env, p.Messages)
	case refused && refusal.Status == http.StatusNotFound && t.filter.After != "":
		// It is not kept any more, and so nothing is that is older.
		t.filter.After, t.filter.Since = "", t.last
		return 0, nil
	case refused && refusal.Status < http.StatusInternalServerError:
		return 0, err
	case !t.away && ctx.Err() == nil:
		t.away = true
		fmt.Fprintf(t.env.stderr, "aldis: %v; trying again\n", err)
	}
	return t.pauses.NextBackOff(), nil
}

func (c *logCmd) print(e env, messages []logMessage) error {
	if c.JSON {
		for _, m := range messages {
			if err := json.NewEncoder(e.stdout).Encode(m); err != nil {
				return err
			}
		}
		return nil
	}
	t := newTable(e)
	for _, m := range messages {
		t.row(m.cells(t)...)
	}
	return t.print()
}

// cells are m as a row. Messages come in while others stand there already, so
// that on a terminal the cells themselves are as wide as most are.
func (m logMessage) cells(t *table) []string {
	source, target := m.Source, m.Target
	if m.Name != "" {
		source = m.Name + " " + source
	}
	if target == "" {
		target = "-"
	}
	text := hub.OneLine(m.Content, textShown)
	if len(m.Content) > textShown {
		text += "…"
	}
	cells := []string{t.moment(m.Time), string(m.Via), source, target, m.fate(), text}
	if t.terminal {
		cells[1] = fmt.Sprintf("%-8s", cells[1])
		for i := 2; i < 5; i++ {
			cells[i] = fmt.Sprintf("%-14s", hub.OneLine(cells[i], 40))
		}
	}
	return cells
}

// fate says what became of m, in short.
func (m logMessage) fate() string {
	count := map[string]int{}
	for _, d := range m.Deliveries {
		count[d.State]++
	}
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(count)) {
		if n := count[state]; n > 1 {
			state = fmt.Sprint(n, " ", state)
		}
		parts = append(parts, state)
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}
