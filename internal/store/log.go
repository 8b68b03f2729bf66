package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"aldis/internal/hub"
)

var _ hub.Log = (*Store)(nil)

// Bounds of what is read at once.
const (
	logPage  = 50
	logMost  = 200
	maxNames = 500
)

// clockSlack is how far back the clock may have been set for a message to be
// found by the end of its time range once the clock is right again.
const clockSlack = time.Minute

// reach is the last place that a message from before a time can have, clockSlack
// after it; while the clock is set back further, it is the last of all.
func reach(t string) string {
	return fmt.Sprintf("(SELECT CASE WHEN seq - ts > %[1]d THEN seq ELSE %[2]s + %[1]d END FROM record ORDER BY seq DESC LIMIT 1)",
		clockSlack.Microseconds(), t)
}

// itself is the source of what the hub says.
const itself = "aldis"

// source is who says m, as the log has it.
func source(m hub.Message) string {
	if m.Via == hub.ViaPlatform {
		return cmp.Or(string(m.From.ID), itself)
	}
	return cmp.Or(string(m.Agent), itself)
}

// target is to whom m goes, as the log has it; empty: to everybody.
func target(m hub.Message, d hub.Decision) string {
	switch {
	case m.Via == hub.ViaPlatform:
		return string(d.Meant)
	case outbound(m):
		return string(m.Ref.Chat)
	default:
		return string(m.To)
	}
}

// Changes implements [hub.Log].
func (s *Store) Changes() uint64 { return s.changes.Load() }

// Log implements [hub.Log]. It fails with NotFound if there is no message
// f.Before or f.After, and with Invalid if both are given. The order is that in
// which messages came into the record.
func (s *Store) Log(ctx context.Context, f hub.LogFilter) (entries []hub.LogEntry, more bool, err error) {
	if f.Before != "" && f.After != "" {
		return nil, false, hub.Errorf(hub.Invalid, "ask for what is before a message or after one, not for both")
	}
	limit := min(cmp.Or(max(f.Limit, 0), logPage), logMost)
	entries, err = read(ctx, s, func(ctx context.Context, q querier) ([]hub.LogEntry, error) {
		edge, err := place(ctx, q, cmp.Or(f.Before, f.After))
		if err != nil {
			return nil, err
		}
		query, args, err := selection(f, edge)
		if err != nil || query == "" {
			return nil, err
		}
		return logEntries(ctx, q, query+" LIMIT ? OFFSET ?", append(args, limit+1, max(f.Skip, 0))...)
	})
	if more = len(entries) > limit; more {
		entries = entries[:limit]
	}
	if f.After != "" {
		slices.Reverse(entries)
	}
	return entries, more, err
}

// Entry implements [hub.Log].
func (s *Store) Entry(ctx context.Context, id hub.MessageID) (hub.LogEntry, error) {
	return read(ctx, s, func(ctx context.Context, q querier) (e hub.LogEntry, err error) {
		seq, err := place(ctx, q, id)
		if err != nil {
			return e, err
		}
		entries, err := logEntries(ctx, q, "SELECT seq FROM record WHERE seq = ?", seq)
		if err != nil || len(entries) == 0 {
			return e, cmp.Or(err, noMessage(id))
		}
		return entries[0], nil
	})
}

// place returns where a message is in the record; 0 for no id.
func place(ctx context.Context, q querier, id hub.MessageID) (int64, error) {
	if id == "" {
		return 0, nil
	}
	seq, ok, err := one(ctx, q, column[int64], "SELECT seq FROM record WHERE id = $1", string(id))
	if err == nil && !ok {
		err = noMessage(id)
	}
	return seq, err
}

func noMessage(id hub.MessageID) error {
	return hub.Errorf(hub.NotFound, "no message %.64q in the record", string(id))
}

// A clause is a condition and what it is bound to.
type clause struct {
	sql  []string
	args []any
}

func (c *clause) add(sql string, args ...any) {
	c.sql = append(c.sql, sql)
	c.args = append(c.args, args...)
}

// selection returns a query for the seqs that f wants, in order, or none if
// there can be no such message. edge is where f.Before or f.After is.
func selection(f hub.LogFilter, edge int64) (query string, args []any, err error) {
	ways := parties(f)
	if len(ways) == 0 {
		return "", nil, nil
	}
	if f.Text != "" {
		return searching(f, edge, ways)
	}
	// Each way is a query of its own: each has an index that is in the order of
	// seq, and SQLite merges them without sorting.
	common := conditions(f, edge, "seq")
	arms := make([]string, len(ways))
	for i, w := range ways {
		c := clause{slices.Clone(common.sql), slices.Clone(common.args)}
		is, bound := w.condition()
		c.add(is, bound...)
		arms[i] = "SELECT seq FROM record WHERE " + strings.Join(c.sql, " AND ")
		args = append(args, c.args...)
	}
	return strings.Join(arms, " UNION ") + " ORDER BY seq" + direction(f), args, nil
}

// searching is selection where there are words to find: the index of words is
// read in the order of seq, and what it names is looked at.
func searching(f hub.LogFilter, edge int64, ways []party) (query string, args []any, err error) {
	words, err := match(f.Text)
	if err != nil || words == "" {
		return "", nil, err
	}
	c := clause{sql: []string{"search MATCH ?"}, args: []any{words}}
	common := conditions(f, edge, "search.rowid")
	c.add(strings.Join(common.sql, " AND "), common.args...)
	var either clause
	for _, w := range ways {
		is, bound := w.condition()
		either.add(is, bound...)
	}
	c.add("("+strings.Join(either.sql, " OR ")+")", either.args...)
	return "SELECT search.rowid FROM search CROSS JOIN record ON record.seq = search.rowid WHERE " +
		strings.Join(c.sql, " AND ") + " ORDER BY search.rowid" + direction(f), c.args, nil
}

func direction(f hub.LogFilter) string {
	if f.After != "" {
		return ""
	}
	return " DESC"
}

// conditions are those of f that do not depend on who the parties are. A seq is
// a time that is never before that of its message, nor past its reach.
func conditions(f hub.LogFilter, edge int64, seq string) (c clause) {
	if f.Before != "" {
		c.add(seq+" < ?", edge)
	} else {
		c.add(seq+" > ?", edge)
	}
	if !f.Since.IsZero() {
		c.add(seq+" >= ? AND ts >= ?", micros(f.Since), micros(f.Since))
	}
	if !f.Until.IsZero() {
		c.add(seq+" <= "+reach("?")+" AND ts <= ?", micros(f.Until), micros(f.Until))
	}
	if f.Via != "" {
		c.add("via = ?", string(f.Via))
	}
	for _, name := range f.Exclude {
		if name != "" {
			c.add("source <> ? AND target <> ?", name, name)
		}
	}
	return c
}

// A party is a source and a target; empty: any.
type party struct{ source, target string }

func (p party) condition() (string, []any) {
	switch {
	case p.source == "" && p.target == "":
		return "TRUE", nil
	case p.target == "":
		return "source = ?", []any{p.source}
	case p.source == "":
		return "target = ?", []any{p.target}
	default:
		return "source = ? AND target = ?", []any{p.source, p.target}
	}
}

// parties returns the sources and targets that f allows; none: there can be no
// message.
func parties(f hub.LogFilter) []party {
	ways := []party{{f.Source, f.Target}}
	for _, name := range []string{f.ParticipantA, f.ParticipantB} {
		if name == "" {
			continue
		}
		var next []party
		for _, w := range ways {
			if w.source == name || w.target == name {
				next = append(next, w)
				continue
			}
			if w.source == "" {
				next = append(next, party{name, w.target})
			}
			if w.target == "" {
				next = append(next, party{w.source, name})
			}
		}
		ways = next
	}
	return ways
}

// logEntries returns the messages whose seqs a query selects, in that order.
func logEntries(ctx context.Context, q querier, seqs string, args ...any) ([]hub.LogEntry, error) {
	places, err := all(ctx, q, column[int64], seqs, args...)
	if err != nil || len(places) == 0 {
		return nil, err
	}
	list, err := json.Marshal(places)
	if err != nil {
		return nil, err
	}
	entries, err := all(ctx, q, scanEntry, `SELECT r.ts, r.source, r.target, r.status, r.body
		FROM json_each($1) j JOIN record r ON r.seq = j.value ORDER BY j.key`, string(list))
	if err != nil {
		return nil, err
	}
	at := make(map[hub.MessageID]*hub.LogEntry, len(entries))
	for i := range entries {
		at[entries[i].ID] = &entries[i]
	}
	_, err = all(ctx, q, func(rows *sql.Rows) (none struct{}, err error) {
		var id hub.MessageID
		d, err := scanDelivery(rows, &id)
		if e := at[id]; err == nil && e != nil {
			e.Deliveries = append(e.Deliveries, d)
		}
		return none, err
	}, `SELECT d.agent, d.state, d.reason, d.changed, d.message FROM json_each($1) j JOIN record r ON r.seq = j.value
		JOIN deliveries d ON d.message = r.id ORDER BY j.key, d.agent`, string(list))
	return entries, err
}

func scanEntry(rows *sql.Rows) (e hub.LogEntry, err error) {
	var ts int64
	var text sql.RawBytes
	if err := rows.Scan(&ts, &e.Source, &e.Target, &e.Status, &text); err != nil {
		return e, err
	}
	m, err := decode(text)
	e.ID, e.Time, e.Via, e.Kind, e.Platform = m.ID, time.UnixMicro(ts).UTC(), m.Via, m.Kind, m.Ref.Platform
	e.Name, e.Text, e.Raw, e.Meta, e.Addr, e.Session = m.From.Name, m.Text, m.Raw, m.Meta, m.Addr, m.Session
	return e, err
}

// Names implements [hub.Log].
func (s *Store) Names(ctx context.Context) (sources, targets []string, err error) {
	_, err = read(ctx, s, func(ctx context.Context, q querier) (none struct{}, err error) {
		if sources, err = all(ctx, q, column[string], distinct("source")); err != nil {
			return none, err
		}
		targets, err = all(ctx, q, column[string], distinct("target"))
		return none, err
	})
	return sources, targets, err
}

// distinct returns a query for what a column that has an index of its own
// contains. It does not read each row: the index leads from one name to the next.
func distinct(col string) string {
	return fmt.Sprintf(`WITH RECURSIVE names (name) AS (
		SELECT min(%[1]s) FROM record WHERE %[1]s > ''
		UNION ALL SELECT (SELECT min(%[1]s) FROM record WHERE %[1]s > name) FROM names WHERE name IS NOT NULL LIMIT %[2]d)
		SELECT name FROM names WHERE name IS NOT NULL`, col, maxNames)
}
