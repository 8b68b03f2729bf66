package store

import (
	"context"
	"strings"

	"aldis/internal/hub"
)

// What record.receipt says of the read receipt.
const (
	receiptWanted = 1 + iota
	receiptDue
	receiptSent
)

// Why deliveries fail here.
const (
	reasonExpired = "expired"
	reasonTooMuch = "dropped: too much mail waits"
)

// Settle implements [hub.Record]. Cursors move by what is handed over or
// acknowledged alone.
func (s *Store) Settle(ctx context.Context, settlements []hub.Settlement) (receipts bool, err error) {
	todo := sortOut(settlements)
	return write(ctx, s, func(tx *txn) (due bool, err error) {
		for _, st := range todo.apart {
			if err := tx.handApart(st); err != nil {
				return false, err
			}
		}
		for id, last := range todo.cursors {
			if _, err := tx.exec("UPDATE sessions SET cursor = $2 WHERE id = $1 AND cursor < $2", string(id), int64(last)); err != nil {
				return false, err
			}
		}
		handed := make(map[string]struct{})
		for _, st := range todo.deliveries {
			ids, err := tx.settle(st)
			if err != nil {
				return false, err
			}
			for _, id := range ids {
				handed[id] = struct{}{}
			}
		}
		return tx.noteReceipts(handed)
	})
}

// sorted are settlements by what they change.
type sorted struct {
	deliveries []hub.Settlement
	apart      []hub.Settlement // handed to a session out of turn
	cursors    map[hub.SessionID]hub.Seq
}

// sortOut sorts settlements, and keeps once what the sessions of a mailbox
// all say.
func sortOut(settlements []hub.Settlement) sorted {
	out := sorted{cursors: make(map[hub.SessionID]hub.Seq)}
	seen := make(map[hub.Settlement]struct{}, len(settlements))
	for _, st := range settlements {
		switch {
		case st.Session == "" || !handedOver(st.State):
		case st.OutOfTurn:
			out.apart = append(out.apart, st)
		default:
			out.cursors[st.Session] = max(out.cursors[st.Session], st.Last)
		}
		st.Session, st.OutOfTurn = "", false
		if _, ok := seen[st]; !ok {
			seen[st] = struct{}{}
			out.deliveries = append(out.deliveries, st)
		}
	}
	return out
}

func handedOver(s hub.State) bool { return s == hub.HandedOver || s == hub.Acknowledged }

// Which deliveries to agent $1 a settlement means: those of message $2, or
// those that have, or once had, a Seq from $2 to $3.
const (
	ofMessage = "agent = $1 AND message = $2"
	ofRange   = `agent = $1 AND message IN (
		SELECT message FROM deliveries WHERE agent = $1 AND open AND seq BETWEEN $2 AND $3
		UNION ALL SELECT message FROM former WHERE agent = $1 AND seq BETWEEN $2 AND $3)`
)

// which returns the condition for st, and its arguments before the others.
func which(st hub.Settlement, others ...any) (string, []any) {
	if st.Message != "" {
		return ofMessage, append([]any{string(st.Agent), string(st.Message), nil}, others...)
	}
	return ofRange, append([]any{string(st.Agent), int64(st.First), int64(st.Last)}, others...)
}

// settle raises the state of deliveries. It returns the messages that were
// handed over by that, or had been before they were acknowledged.
func (tx *txn) settle(st hub.Settlement) (handed []string, err error) {
	if st.State == hub.Acknowledged && len(tx.s.opts.Watch) > 0 { // a hand-over too, where there was none
		first := st
		first.State = hub.HandedOver
		if _, err := tx.settle(first); err != nil {
			return nil, err
		}
	}
	raise := `UPDATE deliveries SET state = $4, reason = $5, changed = $6, held = CASE WHEN $4 < 2 THEN held END`
	if st.State > hub.HandedOver { // else the index of what is open need not be touched
		raise += ", open = FALSE"
	}
	raise += " WHERE state < $7 AND "
	below := st.State
	if st.State == hub.Failed {
		below = hub.HandedOver
	}
	these, args := which(st, int64(st.State), st.Reason, tx.now, int64(below))
	if st.State == hub.Written {
		n, err := tx.exec(raise+these, args...)
		tx.changed += n
		return nil, err
	}
	ended, err := all(context.Background(), tx, scanEnd, raise+these+
		" RETURNING message, agent, (SELECT ts FROM record WHERE id = message)", args...)
	tx.changed += int64(len(ended))
	for _, e := range ended {
		if st.State != hub.Acknowledged {
			tx.tell(e, st.State, st.Reason)
		}
		if handedOver(st.State) {
			handed = append(handed, string(e.message))
		}
	}
	return handed, err
}

// noteReceipts marks the receipts of messages as due where one is wanted. It
// reports whether there is any.
func (tx *txn) noteReceipts(handed map[string]struct{}) (due bool, err error) {
	for id := range handed {
		n, err := tx.exec("UPDATE record SET receipt = 2 WHERE id = $1 AND receipt = 1", id)
		if err != nil {
			return false, err
		}
		due = due || n > 0
	}
	return due, nil
}

// handApart notes what a session was handed past its cursor.
func (tx *txn) handApart(st hub.Settlement) error {
	these, args := which(st, string(st.Session))
	_, err := tx.exec(`INSERT INTO handed (session, seq)
		SELECT s.id, d.seq FROM sessions s JOIN (SELECT seq FROM deliveries WHERE `+these+`) d ON d.seq > s.cursor
		WHERE s.id = $4 ON CONFLICT DO NOTHING`, args...)
	return err
}

// ReceiptSent implements [hub.Record].
func (s *Store) ReceiptSent(ctx context.Context, id hub.MessageID) error {
	return s.change(ctx, func(tx *txn) error {
		_, err := tx.exec("UPDATE record SET receipt = $2 WHERE id = $1", string(id), int64(receiptSent))
		return err
	})
}

// DueReceipts implements [hub.Record]. The oldest come first.
func (s *Store) DueReceipts(ctx context.Context, limit int) ([]hub.Message, error) {
	return read(ctx, s, func(ctx context.Context, q querier) ([]hub.Message, error) {
		return all(ctx, q, scanMessage, "SELECT body FROM record WHERE receipt = 2 ORDER BY seq LIMIT $1", limit)
	})
}

// Acknowledge implements [hub.Record].
func (s *Store) Acknowledge(ctx context.Context, agent hub.AgentID, ids []hub.MessageID) (unknown []hub.MessageID, err error) {
	return write(ctx, s, func(tx *txn) (unknown []hub.MessageID, err error) {
		handed := make(map[string]struct{})
		for _, id := range ids {
			raised, err := tx.settle(hub.Settlement{Agent: agent, Message: id, State: hub.Acknowledged})
			if err != nil {
				return nil, err
			}
			if len(raised) > 0 {
				handed[string(id)] = struct{}{}
				continue
			}
			_, known, err := one(context.Background(), tx, column[int],
				"SELECT 1 FROM deliveries WHERE message = $1 AND agent = $2", string(id), string(agent))
			if err != nil {
				return nil, err
			}
			if !known {
				unknown = append(unknown, id)
			}
		}
		_, err = tx.noteReceipts(handed)
		return unknown, err
	})
}

// Outcome implements [hub.Record]. It is kept as a delivery to agent "", with
// the reasons of recipients that were not reached.
func (s *Store) Outcome(ctx context.Context, id hub.MessageID, sent hub.Sent, failure error) error {
	state, reason := outcome(sent, failure)
	return s.change(ctx, func(tx *txn) error {
		n, err := tx.exec(`INSERT INTO deliveries (message, agent, seq, state, reason, open, size, changed)
			VALUES ($1, '', 0, $2, $3, FALSE, 0, $4)
			ON CONFLICT (message, agent) DO UPDATE SET state = excluded.state, reason = excluded.reason, changed = excluded.changed`,
			string(id), int64(state), reason, tx.now)
		tx.changed += n
		if isConflict(err) {
			return hub.Errorf(hub.NotFound, "no message %s in the record", id)
		}
		for _, ref := range sent.Refs {
			if err != nil {
				return err
			}
			_, err = tx.exec("INSERT INTO refs (platform, key, chat, message) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
				string(ref.Platform), ref.Key, string(ref.Chat), string(id))
		}
		return err
	})
}

// outcome is what a platform's answer means for the delivery to it.
func outcome(sent hub.Sent, failure error) (hub.State, string) {
	if failure != nil {
		return hub.Failed, failure.Error()
	}
	if sent.Unknown {
		return hub.Written, "outcome unknown"
	}
	reasons := make([]string, len(sent.Failed))
	for i, f := range sent.Failed {
		reasons[i] = f.Recipient + ": " + f.Reason
	}
	state := hub.HandedOver
	if len(reasons) > 0 && sent.Reached == 0 {
		state = hub.Failed
	}
	return state, strings.Join(reasons, "; ")
}
