package store

import (
	"context"
	"database/sql"
	"time"

	"aldis/internal/hub"
)

// sinceWhere is what Since and Count look for.
const sinceWhere = `d.agent = $1 AND d.open AND d.seq > $2 AND d.seq <= $3
	AND NOT EXISTS (SELECT 1 FROM handed h WHERE h.session = $4 AND h.seq = d.seq)
	AND NOT EXISTS (SELECT 1 FROM former f WHERE f.message = d.message AND f.agent = d.agent AND f.seq > $5 AND f.seq <= $2)`

// Since implements [hub.Mail].
func (s *Store) Since(ctx context.Context, agent hub.AgentID, session hub.SessionID, birth, after, last hub.Seq, limit int) ([]hub.Offer, error) {
	return read(ctx, s, func(ctx context.Context, q querier) ([]hub.Offer, error) {
		return all(ctx, q, scanOffer(agent), selectOffers+"WHERE "+sinceWhere+" ORDER BY d.seq LIMIT $6",
			string(agent), int64(after), int64(last), string(session), int64(birth), limit)
	})
}

// Count implements [hub.Mail].
func (s *Store) Count(ctx context.Context, agent hub.AgentID, session hub.SessionID, birth, after hub.Seq) (int, error) {
	return read(ctx, s, func(ctx context.Context, q querier) (int, error) {
		n, _, err := one(ctx, q, column[int], "SELECT count(*) FROM (SELECT 1 FROM deliveries d WHERE "+sinceWhere+`
			UNION ALL SELECT 1 FROM deliveries WHERE agent = $1 AND open AND seq BETWEEN 1 AND $5 AND state < 2 LIMIT 1000)`,
			string(agent), int64(after), int64(s.Last()), string(session), int64(birth))
		return n, err
	})
}

// Inbox implements [hub.Mail].
func (s *Store) Inbox(ctx context.Context, agent hub.AgentID, limit int) (mail []hub.Mailed, more bool, err error) {
	mail, err = read(ctx, s, func(ctx context.Context, q querier) ([]hub.Mailed, error) {
		return all(ctx, q, func(rows *sql.Rows) (m hub.Mailed, err error) {
			m.Offer, err = scanOfferAnd(rows, agent, &m.Seen)
			return m, err
		}, `SELECT d.seq, d.held IS NOT NULL, m.status, m.meant, m.body, d.state >= 2
			FROM (SELECT message, seq, held, state FROM deliveries
				WHERE agent = $1 AND open ORDER BY state >= 2, seq LIMIT $2) d
			JOIN record m ON m.id = d.message ORDER BY d.state >= 2, d.seq`, string(agent), limit+1)
	})
	if len(mail) > limit {
		return mail[:limit], true, err
	}
	return mail, false, err
}

// Message implements [hub.Mail].
func (s *Store) Message(ctx context.Context, agent hub.AgentID, id hub.MessageID) (hub.Message, error) {
	return read(ctx, s, func(ctx context.Context, q querier) (hub.Message, error) {
		m, ok, err := one(ctx, q, scanMessage, `SELECT m.body FROM record m JOIN deliveries d ON d.message = m.id
			WHERE m.id = $1 AND d.agent = $2`, string(id), string(agent))
		if err == nil && !ok {
			err = hub.Errorf(hub.NotFound, "no message %s for %s", id, agent)
		}
		return m, err
	})
}

// Fate implements [hub.Mail]. What became of a message that was sent to a
// platform is a delivery to agent "".
func (s *Store) Fate(ctx context.Context, subject string, id hub.MessageID) ([]hub.Delivery, error) {
	return read(ctx, s, func(ctx context.Context, q querier) ([]hub.Delivery, error) {
		_, ok, err := one(ctx, q, column[int], "SELECT 1 FROM record WHERE id = $1 AND ($2 = '' OR subject = $2)", string(id), subject)
		if err == nil && !ok {
			err = hub.Errorf(hub.NotFound, "no message %s", id)
		}
		if err != nil {
			return nil, err
		}
		return all(ctx, q, func(rows *sql.Rows) (hub.Delivery, error) { return scanDelivery(rows) }, "SELECT agent, state, reason, changed FROM deliveries WHERE message = $1 ORDER BY agent", string(id))
	})
}

// scanDelivery scans a delivery and the columns after it.
func scanDelivery(rows *sql.Rows, more ...any) (d hub.Delivery, err error) {
	var changed int64
	err = rows.Scan(append([]any{&d.Agent, &d.State, &d.Reason, &changed}, more...)...)
	d.Time = time.UnixMicro(changed).UTC()
	return d, err
}
