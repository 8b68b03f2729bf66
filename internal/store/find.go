package store

import (
	"context"
	"database/sql"

	"aldis/internal/hub"
)

// selectOffers begins a query for what scanOffer reads.
const selectOffers = `SELECT d.seq, d.held IS NOT NULL, m.status, m.meant, m.body
	FROM deliveries d JOIN record m ON m.id = d.message `

// scanOffer scans an offer to agent alone.
func scanOffer(agent hub.AgentID) func(*sql.Rows) (hub.Offer, error) {
	return func(rows *sql.Rows) (hub.Offer, error) { return scanOfferAnd(rows, agent) }
}

// scanOfferAnd scans an offer and the columns after it.
func scanOfferAnd(rows *sql.Rows, agent hub.AgentID, more ...any) (o hub.Offer, err error) {
	var text sql.RawBytes
	o.Decision.To = []hub.AgentID{agent}
	dest := append([]any{&o.Seq, &o.Decision.Hold, &o.Decision.Status, &o.Decision.Meant, &text}, more...)
	if err := rows.Scan(dest...); err != nil {
		return o, err
	}
	o.Message, err = decode(text)
	return o, err
}

// scanMessage scans a body.
func scanMessage(rows *sql.Rows) (m hub.Message, err error) {
	var text sql.RawBytes
	if err := rows.Scan(&text); err != nil {
		return m, err
	}
	return decode(text)
}

// Unsettled implements [hub.Record].
func (s *Store) Unsettled(ctx context.Context, agent hub.AgentID) ([]hub.Loose, error) {
	return read(ctx, s, func(ctx context.Context, q querier) ([]hub.Loose, error) {
		return all(ctx, q, func(rows *sql.Rows) (l hub.Loose, err error) {
			l.Offer, err = scanOfferAnd(rows, agent, &l.Elsewhere)
			return l, err
		}, `SELECT d.seq, d.held IS NOT NULL, m.status, m.meant, m.body,
			EXISTS (SELECT 1 FROM deliveries o WHERE o.message = d.message AND o.agent NOT IN (d.agent, '') AND o.state < 4)
			FROM deliveries d JOIN record m ON m.id = d.message
			WHERE d.agent = $1 AND d.open AND d.state < 2 ORDER BY d.seq`, string(agent))
	})
}

// Undecided implements [hub.Record].
func (s *Store) Undecided(ctx context.Context) ([]hub.Message, error) {
	return read(ctx, s, func(ctx context.Context, q querier) ([]hub.Message, error) {
		return all(ctx, q, scanMessage, "SELECT body FROM record WHERE waiting IS NOT NULL ORDER BY seq")
	})
}

// Find implements [hub.Record]. The decision names the agents that got the
// message or may still get it.
func (s *Store) Find(ctx context.Context, p hub.PlatformID, key string) ([]hub.Filed, error) {
	return read(ctx, s, func(ctx context.Context, q querier) ([]hub.Filed, error) {
		found, err := all(ctx, q, scanFiled(p, key), `
			SELECT m.seq, m.status, m.meant, m.body, NULL FROM record m WHERE m.platform = $1 AND m.key = $2
			UNION ALL
			SELECT m.seq, '', '', m.body, r.chat FROM refs r JOIN record m ON m.id = r.message WHERE r.platform = $1 AND r.key = $2
			ORDER BY 1 DESC`, string(p), key)
		if err != nil {
			return nil, err
		}
		for i := range found {
			if err := addressees(ctx, q, &found[i]); err != nil {
				return nil, err
			}
		}
		return found, nil
	})
}

// scanFiled scans a message that p calls key, with its chat there if the
// message was sent to p.
func scanFiled(p hub.PlatformID, key string) func(*sql.Rows) (hub.Filed, error) {
	return func(rows *sql.Rows) (f hub.Filed, err error) {
		var seq hub.Seq
		var text sql.RawBytes
		var chat sql.NullString
		if err := rows.Scan(&seq, &f.Decision.Status, &f.Decision.Meant, &text, &chat); err != nil {
			return f, err
		}
		f.Message, err = decode(text)
		if chat.Valid {
			f.Message.Ref = hub.Ref{Platform: p, Chat: hub.ChatID(chat.String), Key: key}
		}
		return f, err
	}
}

// addressees adds to f the agents that got it or may still get it.
func addressees(ctx context.Context, q querier, f *hub.Filed) error {
	_, err := all(ctx, q, func(rows *sql.Rows) (none struct{}, err error) {
		var agent hub.AgentID
		var held bool
		err = rows.Scan(&agent, &held)
		f.Decision.To = append(f.Decision.To, agent)
		f.Decision.Hold = f.Decision.Hold || held
		return none, err
	}, `SELECT agent, held IS NOT NULL FROM deliveries
		WHERE message = $1 AND agent <> '' AND state < 4 ORDER BY agent`, string(f.Message.ID))
	return err
}

// Chats implements [hub.Record].
func (s *Store) Chats(ctx context.Context) ([]hub.Ref, error) {
	return read(ctx, s, chats)
}

func chats(ctx context.Context, q querier) ([]hub.Ref, error) {
	return all(ctx, q, func(rows *sql.Rows) (r hub.Ref, err error) {
		err = rows.Scan(&r.Platform, &r.Chat)
		return r, err
	}, "SELECT platform, chat FROM chats ORDER BY platform, chat")
}

// Owed implements [hub.Record].
func (s *Store) Owed(ctx context.Context) ([]hub.AgentID, error) {
	return read(ctx, s, func(ctx context.Context, q querier) ([]hub.AgentID, error) {
		return all(ctx, q, column[hub.AgentID],
			"SELECT DISTINCT agent FROM deliveries WHERE open AND state < 2 AND held IS NULL ORDER BY agent")
	})
}

// Known implements [hub.Record].
func (s *Store) Known(ctx context.Context, agent hub.AgentID) (bool, error) {
	return read(ctx, s, func(ctx context.Context, q querier) (bool, error) {
		known, _, err := one(ctx, q, column[bool], `SELECT EXISTS (SELECT 1 FROM sessions WHERE agent = $1 AND named)
			OR EXISTS (SELECT 1 FROM tokens WHERE agent = $1) OR EXISTS (SELECT 1 FROM hooks WHERE agent = $1)`, string(agent))
		return known, err
	})
}

// Agents implements [hub.Record].
func (s *Store) Agents(ctx context.Context) (int, error) {
	return read(ctx, s, func(ctx context.Context, q querier) (int, error) {
		n, _, err := one(ctx, q, column[int], `SELECT count(*) FROM
			(SELECT agent FROM sessions WHERE named UNION SELECT agent FROM tokens UNION SELECT agent FROM hooks) AS known`)
		return n, err
	})
}

// First implements [hub.Record].
func (s *Store) First(ctx context.Context, dedup string) (hub.MessageID, error) {
	return read(ctx, s, func(ctx context.Context, q querier) (hub.MessageID, error) {
		id, ok, err := one(ctx, q, column[hub.MessageID], "SELECT id FROM record WHERE dedup = $1", dedup)
		if err == nil && !ok {
			err = hub.Errorf(hub.NotFound, "no message of that kind in the record")
		}
		return id, err
	})
}

// Lookup implements [hub.Record].
func (s *Store) Lookup(ctx context.Context, id hub.MessageID) (hub.Filed, error) {
	return read(ctx, s, func(ctx context.Context, q querier) (hub.Filed, error) {
		m, ok, err := one(ctx, q, scanMessage, "SELECT body FROM record WHERE id = $1", string(id))
		if err == nil && !ok {
			err = hub.Errorf(hub.NotFound, "no message %s in the record", id)
		}
		return hub.Filed{Message: m}, err
	})
}
