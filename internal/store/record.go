package store

import (
	"context"
	"database/sql"

	"aldis/internal/hub"
)

// Append implements [hub.Record]. A message that waits undecided and is
// offered again without a decision is fresh again: the caller goes on with it.
func (s *Store) Append(ctx context.Context, m hub.Message, d *hub.Decision, then func(hub.Offer)) (fresh bool, err error) {
	text, err := encode(m)
	if err != nil {
		return false, err
	}
	return write(ctx, s, func(tx *txn) (bool, error) {
		seq := tx.seq()
		added, err := tx.insert(m, d, text)
		switch {
		case err != nil:
			return false, err
		case !added:
			return tx.appendAgain(seq, m.Dedup, d, then)
		case d == nil:
			return true, nil
		}
		return true, tx.offer(seq, m, len(text), *d, then)
	})
}

// insert adds m to the record; false if it is there already, by Dedup.
func (tx *txn) insert(m hub.Message, d *hub.Decision, text string) (bool, error) {
	var waiting any
	if d == nil {
		d = &hub.Decision{}
		if !outbound(m) {
			waiting = tx.now
		}
	}
	var receipt int64
	if m.Receipt {
		receipt = receiptWanted
	}
	n, err := tx.exec(`INSERT INTO record (seq, id, ts, platform, key, dedup, subject, waiting, status, meant, receipt, live, body, via, source, target)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, TRUE, $12, $13, $14, $15)
		ON CONFLICT (dedup) WHERE dedup IS NOT NULL DO NOTHING`,
		tx.place(), string(m.ID), tx.now, string(m.Ref.Platform), nullable(m.Ref.Key), nullable(m.Dedup),
		m.Subject, waiting, string(d.Status), string(d.Meant), receipt, text, string(m.Via), source(m), target(m, *d))
	if isConflict(err) {
		return false, hub.Errorf(hub.Conflict, "message %s is already in the record", m.ID)
	}
	if err == nil && n > 0 {
		tx.then(func() { tx.s.stored.Add(1) })
	}
	tx.changed += n
	if err == nil && n > 0 && m.Via == hub.ViaPlatform {
		err = tx.noteChat(hub.Ref{Platform: m.Ref.Platform, Chat: m.Ref.Chat})
	}
	return n > 0, err
}

// noteChat records a chat that a person writes from, if it is new.
func (tx *txn) noteChat(chat hub.Ref) error {
	if tx.chats[chat] {
		return nil
	}
	tx.then(func() { tx.chats[chat] = true })
	_, err := tx.exec("INSERT INTO chats (platform, chat) VALUES ($1, $2) ON CONFLICT DO NOTHING",
		string(chat.Platform), string(chat.Chat))
	return err
}

// outbound reports whether m goes to a platform, and so waits for no decision.
func outbound(m hub.Message) bool { return m.Via != hub.ViaPlatform && m.Ref.Platform != "" }

// appendAgain decides a message that was appended before, if it waits for that.
func (tx *txn) appendAgain(seq hub.Seq, dedup string, d *hub.Decision, then func(hub.Offer)) (bool, error) {
	text, waits, err := one(context.Background(), tx, column[[]byte],
		"SELECT body FROM record WHERE dedup = $1 AND waiting IS NOT NULL", dedup)
	if err != nil || !waits || d == nil {
		return waits, err
	}
	m, err := decode(text)
	if err != nil {
		return false, err
	}
	return true, tx.decide(seq, m, len(text), *d, then)
}

// Decide implements [hub.Record].
func (s *Store) Decide(ctx context.Context, id hub.MessageID, from []hub.AgentID, reason string, d *hub.Decision, then func(hub.Offer)) error {
	return s.change(ctx, func(tx *txn) error {
		text, ok, err := one(context.Background(), tx, column[[]byte], "SELECT body FROM record WHERE id = $1", string(id))
		if err != nil {
			return err
		}
		if !ok {
			return hub.Errorf(hub.NotFound, "no message %s in the record", id)
		}
		m, err := decode(text)
		if err != nil {
			return err
		}
		for _, agent := range from {
			if _, err := tx.fail(id, agent, reason); err != nil {
				return err
			}
		}
		if d != nil {
			return tx.decide(tx.seq(), m, len(text), *d, then)
		}
		return tx.await(id)
	})
}

// await has a message wait for a decision.
func (tx *txn) await(id hub.MessageID) error {
	n, err := tx.exec(`UPDATE record SET waiting = COALESCE(waiting, $2), status = '', meant = '',
		target = CASE via WHEN 'platform' THEN '' ELSE target END WHERE id = $1`, string(id), tx.now)
	tx.changed += n
	return err
}

// decide records d for m.
func (tx *txn) decide(seq hub.Seq, m hub.Message, size int, d hub.Decision, then func(hub.Offer)) error {
	n, err := tx.exec("UPDATE record SET waiting = NULL, status = $2, meant = $3, target = $4 WHERE id = $1",
		string(m.ID), string(d.Status), string(d.Meant), target(m, d))
	tx.changed += n
	if err != nil {
		return err
	}
	return tx.offer(seq, m, size, d, then)
}

// offer makes a delivery of m, numbered seq, for each agent in d.To that was
// not handed it before. It has then called for those: once for all to whom it
// is new, and once for each to whom it is offered again.
func (tx *txn) offer(seq hub.Seq, m hub.Message, size int, d hub.Decision, then func(hub.Offer)) error {
	var held any
	if d.Hold {
		held = tx.now
	}
	if d.Quiet {
		seq = 0
	}
	o := hub.Offer{Seq: seq, Message: m, Decision: d}
	o.Decision.To = make([]hub.AgentID, 0, len(d.To))
	for _, agent := range d.To {
		n, err := tx.exec(`INSERT INTO deliveries (message, agent, seq, state, reason, held, open, size, changed)
			VALUES ($1, $2, $3, 0, '', $4, TRUE, $5, $6) ON CONFLICT (message, agent) DO NOTHING`,
			string(m.ID), string(agent), int64(seq), held, int64(size), tx.now)
		if err == nil && n > 0 {
			o.Decision.To = append(o.Decision.To, agent)
		} else if err == nil {
			err = tx.offerAgain(o, agent, held, then)
		}
		if err == nil && d.Hold {
			err = tx.boundHeld(agent)
		}
		if err != nil {
			return err
		}
	}
	if len(o.Decision.To) > 0 && !d.Quiet {
		tx.handOver(o, then)
	}
	return nil
}

// offerAgain offers o to an agent that it was offered before, unless the agent
// was handed it. One that has failed since begins anew: who has read on in the
// meantime has passed over it.
func (tx *txn) offerAgain(o hub.Offer, agent hub.AgentID, held any, then func(hub.Offer)) error {
	was, ok, err := tx.renumber(o.Message.ID, agent, o.Seq)
	if err != nil || !ok {
		return err
	}
	failed, err := tx.exec("DELETE FROM former WHERE message = $1 AND agent = $2 AND EXISTS "+
		"(SELECT 1 FROM deliveries WHERE message = $1 AND agent = $2 AND state = 4)", string(o.Message.ID), string(agent))
	if err != nil {
		return err
	}
	if failed > 0 {
		was = 0
	}
	o.Was, o.Decision.To = was, []hub.AgentID{agent}
	tx.handOver(o, then)
	_, err = tx.exec(`UPDATE deliveries SET state = 0, reason = '', held = $3, open = TRUE, changed = $4
		WHERE message = $1 AND agent = $2`, string(o.Message.ID), string(agent), held, tx.now)
	return err
}

// renumber gives a delivery that was not handed over a new Seq, and returns
// the old one; false if it was handed over, or has the new one already.
func (tx *txn) renumber(id hub.MessageID, agent hub.AgentID, seq hub.Seq) (was hub.Seq, ok bool, err error) {
	was, ok, err = one(context.Background(), tx, column[hub.Seq], `INSERT INTO former (message, agent, seq)
		SELECT message, agent, seq FROM deliveries WHERE message = $1 AND agent = $2 AND seq < $3 AND state NOT IN (2, 3) RETURNING seq`,
		string(id), string(agent), int64(seq))
	if err != nil || !ok {
		return 0, false, err
	}
	_, err = tx.exec("UPDATE deliveries SET seq = $3 WHERE message = $1 AND agent = $2", string(id), string(agent), int64(seq))
	return was, true, err
}

// handOver has then called with o after the commit.
func (tx *txn) handOver(o hub.Offer, then func(hub.Offer)) {
	if then != nil {
		tx.then(func() { then(o) })
	}
}

// fail ends the delivery of a message to agent, if it was not handed over.
func (tx *txn) fail(id hub.MessageID, agent hub.AgentID, reason string) (int64, error) {
	n, err := tx.exec(`UPDATE deliveries SET state = 4, reason = $3, held = NULL, open = FALSE, changed = $4
		WHERE message = $1 AND agent = $2 AND state < 2`, string(id), string(agent), reason, tx.now)
	tx.changed += n
	if n > 0 {
		tx.tell(end{id, agent, tx.now}, hub.Failed, reason)
	}
	return n, err
}

// Reoffer implements [hub.Record].
func (s *Store) Reoffer(ctx context.Context, agent hub.AgentID, last hub.Seq, then func(hub.Offer)) error {
	return s.change(ctx, func(tx *txn) error {
		loose, err := all(context.Background(), tx, scanOffer(agent), selectOffers+`
			WHERE d.agent = $1 AND d.open AND d.state < 2 AND d.seq BETWEEN 1 AND $2 ORDER BY d.seq`, string(agent), int64(last))
		if err != nil {
			return err
		}
		for _, o := range loose {
			o.Seq = tx.seq()
			if o.Was, _, err = tx.renumber(o.Message.ID, agent, o.Seq); err != nil {
				return err
			}
			tx.handOver(o, then)
		}
		return nil
	})
}

// Hold implements [hub.Record].
func (s *Store) Hold(ctx context.Context, agent hub.AgentID, ids []hub.MessageID) error {
	return s.change(ctx, func(tx *txn) error {
		for _, id := range ids {
			_, err := tx.exec("UPDATE deliveries SET held = $3 WHERE message = $1 AND agent = $2 AND state < 2",
				string(id), string(agent), tx.now)
			if err != nil {
				return err
			}
		}
		return tx.boundHeld(agent)
	})
}

// boundHeld ends the oldest of what is held for agent as failed, where it is
// more than may be held.
func (tx *txn) boundHeld(agent hub.AgentID) error {
	held, _, err := one(context.Background(), tx, scanHeld,
		"SELECT '', count(*), COALESCE(sum(size), 0) FROM deliveries WHERE agent = $1 AND held IS NOT NULL", string(agent))
	for err == nil && (held.count > maxHeld || held.bytes > maxHeldBytes) {
		var oldest heldMail
		oldest, _, err = one(context.Background(), tx, scanHeld,
			"SELECT message, 1, size FROM deliveries WHERE agent = $1 AND held IS NOT NULL ORDER BY seq LIMIT 1", string(agent))
		if err == nil {
			_, err = tx.fail(oldest.message, agent, reasonTooMuch)
		}
		held.count -= oldest.count
		held.bytes -= oldest.bytes
	}
	return err
}

// heldMail is a message that is held, or a number of them.
type heldMail struct {
	message      hub.MessageID
	count, bytes int64
}

func scanHeld(rows *sql.Rows) (h heldMail, err error) {
	err = rows.Scan(&h.message, &h.count, &h.bytes)
	return h, err
}
