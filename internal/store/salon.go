package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"time"

	"aldis/internal/hub"
)

// importStep is how many messages are taken over in one transaction.
const importStep = 500

// salonColumns are the columns of messages in seed agent-salon.md.
const salonColumns = "id, ts, via, source, target, content, meta, delivered_to, delivery_errors, sender_addr, sender_session_id"

// isSalon reports whether q is a database of seed agent-salon.md. A record of
// ours has a view of that name.
func isSalon(ctx context.Context, q querier) bool {
	have, err := all(ctx, q, column[string], `SELECT c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name = 'messages'`)
	lacks := func(col string) bool { return !slices.Contains(have, col) }
	return err == nil && !slices.ContainsFunc(strings.Split(salonColumns, ", "), lacks)
}

// ImportSalon takes over the messages of a database as seed agent-salon.md has
// them, with their ids and times, and what became of them. It leaves out those
// that are in the record, changes nothing in the file, and tells progress, after
// each step, how many of how many it has seen. It returns how many are new. It
// fails with NotFound if there is no file at path, and with Invalid if that is
// no such database, or a time in it cannot be read.
func (s *Store) ImportSalon(ctx context.Context, path string, progress func(seen, total int)) (added int, err error) {
	if _, err := os.Stat(path); err != nil {
		return 0, hub.Errorf(hub.NotFound, "read the database of agent-salon: %w", err)
	}
	from, err := peek(path)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	if !isSalon(ctx, from) {
		return 0, hub.Errorf(hub.Invalid, "%s is not a database of agent-salon: it has no table messages with that program's columns", path)
	}
	total, _, err := one(ctx, from, column[int], "SELECT count(*) FROM messages")
	if err != nil {
		return 0, err
	}
	for seen, last := 0, ""; ; {
		rows, err := all(ctx, from, scanSalon, "SELECT "+salonColumns+" FROM messages WHERE id > $1 ORDER BY id LIMIT $2", last, importStep)
		if err != nil || len(rows) == 0 {
			return added, err
		}
		n, err := write(ctx, s, func(tx *txn) (n int, err error) { return tx.importSalon(rows) })
		if err != nil {
			return added, err
		}
		added += n
		seen, last = seen+len(rows), string(rows[len(rows)-1].message.ID)
		progress(seen, total)
	}
}

// A salonRow is a message of the seed's program.
type salonRow struct {
	message    hub.Message
	deliveries []hub.Delivery
}

func scanSalon(rows *sql.Rows) (r salonRow, err error) {
	m := &r.message
	var ts, meta, delivered, failed string
	var target, addr, session sql.NullString
	if err := rows.Scan(&m.ID, &ts, &m.Via, &m.Agent, &target, &m.Text, &meta, &delivered, &failed, &addr, &session); err != nil {
		return r, err
	}
	m.Kind, m.Subject = hub.Text, "main"
	m.To, m.Addr, m.Session = hub.AgentID(target.String), addr.String, hub.SessionID(session.String)
	m.Text = strings.ToValidUTF8(m.Text, "\uFFFD")
	m.Meta = salonMeta(meta)
	if m.Time, err = salonTime(ts); err != nil {
		return r, hub.Errorf(hub.Invalid, "message %s: the time %.64q is none in ISO 8601", m.ID, ts)
	}
	for _, name := range salonNames(delivered) {
		r.deliveries = append(r.deliveries, hub.Delivery{Agent: name, State: hub.HandedOver})
	}
	for _, name := range salonNames(failed) {
		r.deliveries = append(r.deliveries, hub.Delivery{Agent: name, State: hub.Failed, Reason: "its session was gone"})
	}
	return r, nil
}

// salonTime reads a time in ISO 8601. One without a zone is in UTC.
func salonTime(s string) (t time.Time, err error) {
	s = strings.Replace(s, " ", "T", 1)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05"} {
		if t, err = time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return t, err
}

// salonMeta reads a JSON object. What is no string is kept as its JSON text.
func salonMeta(s string) map[string]string {
	var values map[string]json.RawMessage
	if json.Unmarshal([]byte(s), &values) != nil {
		return map[string]string{"meta": s}
	}
	meta := make(map[string]string, len(values))
	for key, v := range values {
		var text string
		if json.Unmarshal(v, &text) != nil {
			text = string(v)
		}
		meta[key] = text
	}
	return meta
}

// salonNames reads a JSON array of labels. A session may have had none.
func salonNames(s string) (names []hub.AgentID) {
	var labels []*string
	if json.Unmarshal([]byte(s), &labels) != nil {
		return nil
	}
	for _, l := range labels {
		name := "(no label)"
		if l != nil && *l != "" {
			name = *l
		}
		names = append(names, hub.AgentID(name))
	}
	return names
}

// importSalon adds rows that are not in the record, and returns how many.
func (tx *txn) importSalon(rows []salonRow) (added int, err error) {
	for _, r := range rows {
		fresh, err := tx.importRow(r)
		if err != nil {
			return 0, err
		}
		if fresh {
			added++
		}
	}
	tx.changed += int64(added)
	return added, nil
}

func (tx *txn) importRow(r salonRow) (fresh bool, err error) {
	m, ts := r.message, micros(r.message.Time)
	text, err := encode(m)
	if err != nil {
		return false, err
	}
	seq, err := tx.freePlace(min(max(ts, 1), tx.now)) // a time to come would put off all that follows
	if err != nil {
		return false, err
	}
	n, err := tx.exec(`INSERT INTO record (seq, id, ts, platform, subject, status, meant, receipt, live, body, via, source, target)
		VALUES ($1, $2, $3, '', $4, '', '', 0, FALSE, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING`,
		seq, string(m.ID), ts, m.Subject, text, string(m.Via), source(m), string(m.To))
	if err != nil || n == 0 {
		return false, err
	}
	tx.newest = max(tx.newest, seq)
	if seq <= tx.searched { // the writer has passed it
		if _, err := tx.exec("INSERT INTO search (rowid, text) VALUES ($1, $2)", seq, m.Text); err != nil {
			return false, err
		}
	}
	for _, d := range r.deliveries {
		_, err := tx.exec(`INSERT INTO deliveries (message, agent, seq, state, reason, open, size, changed)
			VALUES ($1, $2, 0, $3, $4, FALSE, 0, $5) ON CONFLICT (message, agent) DO NOTHING`,
			string(m.ID), string(d.Agent), int64(d.State), d.Reason, ts)
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// freePlace returns the first place from a time on that no message has.
func (tx *txn) freePlace(ts int64) (int64, error) {
	seq, _, err := one(context.Background(), tx, column[int64], `SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM record WHERE seq = $1) THEN $1
		ELSE (SELECT seq + 1 FROM record r WHERE seq >= $1 AND NOT EXISTS (SELECT 1 FROM record n WHERE n.seq = r.seq + 1) ORDER BY seq LIMIT 1) END`, ts)
	return seq, err
}
