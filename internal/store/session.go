package store

import (
	"context"
	"database/sql"
	"time"

	"aldis/internal/hub"
)

const selectSessions = `SELECT id, agent, named, seat, subject, begun, acks, client, version, birth, cursor, place, present, streamed, refused, used
	FROM sessions `

func scanSession(rows *sql.Rows) (s hub.SavedSession, err error) {
	var begun, used int64
	err = rows.Scan(&s.ID, &s.Agent, &s.Named, &s.Seat, &s.Subject, &begun, &s.Acks, &s.Client, &s.Version, &s.Birth, &s.Cursor,
		&s.Order, &s.Present, &s.Streamed, &s.Refused, &used)
	s.Begun, s.Used = time.UnixMicro(begun).UTC(), time.UnixMicro(used).UTC()
	return s, err
}

// SaveSession implements [hub.SessionStore].
func (s *Store) SaveSession(ctx context.Context, v hub.SavedSession) error {
	return s.change(ctx, func(tx *txn) error {
		_, err := tx.exec(`INSERT INTO sessions
			(id, agent, named, seat, subject, begun, acks, client, version, birth, cursor, place, present, streamed, refused, used)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
			ON CONFLICT (id) DO UPDATE SET agent = excluded.agent, named = excluded.named, seat = excluded.seat,
			subject = excluded.subject, begun = excluded.begun, acks = excluded.acks, client = excluded.client, version = excluded.version, birth = excluded.birth,
			place = excluded.place, present = excluded.present, streamed = excluded.streamed,
			refused = excluded.refused, used = excluded.used`,
			string(v.ID), string(v.Agent), v.Named, v.Seat, v.Subject, micros(v.Begun), v.Acks, v.Client, v.Version, int64(v.Birth), int64(v.Cursor),
			v.Order, v.Present, v.Streamed, v.Refused, micros(v.Used))
		return err
	})
}

// DeleteSession implements [hub.SessionStore].
func (s *Store) DeleteSession(ctx context.Context, id hub.SessionID) error {
	return s.change(ctx, func(tx *txn) error {
		_, err := tx.exec("DELETE FROM sessions WHERE id = $1", string(id))
		return err
	})
}

// Session implements [hub.SessionStore].
func (s *Store) Session(ctx context.Context, id hub.SessionID) (hub.SavedSession, error) {
	return read(ctx, s, func(ctx context.Context, q querier) (hub.SavedSession, error) {
		v, ok, err := one(ctx, q, scanSession, selectSessions+"WHERE id = $1 AND used >= $2", string(id), s.oldest())
		if err == nil && !ok {
			err = hub.Errorf(hub.NotFound, "no session of that id")
		}
		return v, err
	})
}

// Sessions implements [hub.SessionStore].
func (s *Store) Sessions(ctx context.Context) ([]hub.SavedSession, error) {
	return read(ctx, s, func(ctx context.Context, q querier) ([]hub.SavedSession, error) {
		return all(ctx, q, scanSession, selectSessions+"WHERE (present OR place > 0) AND used >= $1 ORDER BY used", s.oldest())
	})
}

// oldest is when a session must have been used since to be remembered.
func (s *Store) oldest() int64 { return micros(s.opts.Now().Add(-sessionAge)) }
