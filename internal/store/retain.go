package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"aldis/internal/hub"
)

// slackPages is how many free pages are left to what is written next, and how
// many others are given back in one transaction.
const slackPages = 256

// spare are the messages that may be deleted: no inbox has them, they wait for
// nothing, not even for a receipt, and nobody is still to answer them.
const spare = `NOT live AND waiting IS NULL AND receipt <> 2
	AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.message = record.id AND d.open)
	AND NOT EXISTS (SELECT 1 FROM prompts p WHERE p.id = record.id AND p.pending)`

// stale are those of them that are not to be known again, should they be sent
// again: they came without a key, or before the time $3.
const stale = spare + ` AND (dedup IS NULL OR ts < $3) AND id NOT IN (SELECT message FROM seen)`

// retain deletes what is older, or more, than is to be kept: the oldest first,
// some at a time.
func (s *Store) retain(ctx context.Context) error {
	if !s.opts.retains() {
		return nil
	}
	if err := s.retainAge(ctx); err != nil {
		return err
	}
	if err := s.retainBytes(ctx); err != nil {
		return err
	}
	return s.shrink(ctx)
}

func (s *Store) retainAge(ctx context.Context) error {
	if s.opts.Retain <= 0 {
		return nil
	}
	before := s.opts.Now().Add(-s.opts.Retain)
	for {
		n, err := s.deleteOldest(ctx, before)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	return s.change(ctx, func(tx *txn) error {
		_, err := tx.exec("DELETE FROM prompts WHERE opened < $1 AND NOT pending", micros(before))
		return err
	})
}

func (s *Store) retainBytes(ctx context.Context) error {
	for s.opts.RetainBytes > 0 {
		used, err := s.pages(ctx, "(p.page_count - f.freelist_count) * z.page_size")
		if err != nil || used <= s.opts.RetainBytes {
			return err
		}
		if n, err := s.deleteOldest(ctx, time.UnixMicro(math.MaxInt64/2)); n == 0 || err != nil {
			return err
		}
	}
	return nil
}

// pages returns what SQLite says of the file.
func (s *Store) pages(ctx context.Context, what string) (int64, error) {
	return read(ctx, s, func(ctx context.Context, q querier) (int64, error) {
		n, _, err := one(ctx, q, column[int64], "SELECT "+what+
			" FROM pragma_page_count p, pragma_freelist_count f, pragma_page_size z, pragma_auto_vacuum a")
		return n, err
	})
}

// deleteOldest deletes the oldest of the messages from before a time, and
// returns how many that were.
func (s *Store) deleteOldest(ctx context.Context, before time.Time) (int64, error) {
	ids, err := read(ctx, s, func(ctx context.Context, q querier) ([]string, error) {
		return all(ctx, q, column[string], "SELECT id FROM record WHERE seq <= "+reach("$1")+" AND ts < $2 AND "+stale+" ORDER BY seq LIMIT $4",
			micros(before), micros(before), micros(s.opts.Now().Add(-onceFor)), expireStep)
	})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return write(ctx, s, func(tx *txn) (deleted int64, err error) {
		for _, id := range ids {
			n, err := tx.exec("DELETE FROM record WHERE id = $1 AND "+spare, id)
			if err != nil {
				return 0, err
			}
			deleted += n
		}
		tx.changed += deleted
		return deleted, nil
	})
}

// shrink gives the free pages of the file back, but for some.
func (s *Store) shrink(ctx context.Context) error {
	for s.opts.Path != "" {
		n, err := s.pages(ctx, "f.freelist_count")
		if err != nil || n <= slackPages {
			return err
		}
		err = s.change(ctx, func(tx *txn) error {
			// It answers with a row for each page.
			_, err := all(context.Background(), tx, func(*sql.Rows) (none struct{}, err error) { return none, nil },
				fmt.Sprintf("PRAGMA incremental_vacuum(%d)", slackPages))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// makeShrinkable rearranges, once, a record that was made before records could
// shrink. It needs room for a second one while it does.
func (s *Store) makeShrinkable(ctx context.Context) error {
	if s.opts.Path == "" || !s.opts.retains() {
		return nil
	}
	mode, _, err := one(ctx, s.writer, column[int], "PRAGMA auto_vacuum")
	if err != nil || mode == incremental {
		return err
	}
	s.opts.Log.InfoContext(ctx, "the record is rearranged, so that it can shrink: this may take a while", "path", s.opts.Path)
	for _, do := range []string{fmt.Sprint("PRAGMA auto_vacuum = ", incremental), "VACUUM"} {
		if _, err := s.writer.ExecContext(ctx, do); err != nil {
			return hub.Errorf(hub.Unavailable, "rearrange the record %s (free disk space, or leave --retain and --retain-bytes out): %w", s.opts.Path, err)
		}
	}
	return nil
}

// incremental is the mode of auto_vacuum in which free pages are given back
// when that is asked for. https://www.sqlite.org/pragma.html#pragma_auto_vacuum
const incremental = 2
