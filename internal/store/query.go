package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"aldis/internal/hub"
)

// A querier reads from the database: the readers, or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// all returns each row of a query as scan reads it.
func all[T any](ctx context.Context, q querier, scan func(*sql.Rows) (T, error), query string, args ...any) (vals []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		val, err := scan(rows)
		if err != nil {
			return nil, err
		}
		vals = append(vals, val)
	}
	return vals, rows.Err()
}

// one returns the first row of a query; false if there is none.
func one[T any](ctx context.Context, q querier, scan func(*sql.Rows) (T, error), query string, args ...any) (val T, ok bool, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return val, false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return val, false, rows.Err()
	}
	val, err = scan(rows)
	return val, err == nil, err
}

// column scans a row of one column.
func column[T any](rows *sql.Rows) (val T, err error) {
	err = rows.Scan(&val)
	return val, err
}

// nullable is s, or NULL for an empty one.
func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// fault makes err fit for callers: Unavailable if it is the disk's or the
// file's.
func (s *Store) fault(what string, err error) error {
	if _, ok := errors.AsType[*hub.Error](err); ok || err == nil {
		return err
	}
	if !diskFault(err) {
		return fmt.Errorf("the record %s cannot be %s: %w", s.opts.Path, what, err)
	}
	return &hub.Error{
		Kind: hub.Unavailable,
		Msg:  fmt.Sprintf("the record %s cannot be %s; free disk space or mend the file", s.opts.Path, what),
		Err:  err,
	}
}

// diskFault reports whether err comes from the disk or the file rather than
// from what was asked of the database.
func diskFault(err error) bool {
	switch resultCode(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CORRUPT,
		sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOTADB,
		sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PERM:
		return true
	}
	return false
}

// isConflict reports whether err says that a row is there already.
func isConflict(err error) bool { return resultCode(err) == sqlite3.SQLITE_CONSTRAINT }

// resultCode is the primary result code of an error of SQLite, else 0.
func resultCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff // without the extension
	}
	return sqlite3.SQLITE_OK
}
