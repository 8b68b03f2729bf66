package desktop

import (
	"context"
	"database/sql"
	"strings"
)

// A querier reads from a database.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// all returns each row of a query as scan reads it.
func all[T any](ctx context.Context, q querier, scan func(*sql.Rows) (T, error), query string, args ...any) (vals []T, err error) {
	err = each(ctx, q, func(rows *sql.Rows) (bool, error) {
		val, err := scan(rows)
		vals = append(vals, val)
		return true, err
	}, query, args...)
	return vals, err
}

// one returns the first row of a query; false if there is none.
func one[T any](ctx context.Context, q querier, scan func(*sql.Rows) (T, error), query string, args ...any) (val T, ok bool, err error) {
	err = each(ctx, q, func(rows *sql.Rows) (_ bool, err error) {
		val, err = scan(rows)
		ok = err == nil
		return false, err
	}, query, args...)
	return val, ok, err
}

// each calls fn for the rows of a query, until it returns false or fails.
func each(ctx context.Context, q querier, fn func(*sql.Rows) (more bool, err error), query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if more, err := fn(rows); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}

// value scans a row of one column.
func value[T any](rows *sql.Rows) (val T, err error) {
	err = rows.Scan(&val)
	return val, err
}

// A clause is conditions that all hold, and what they are bound to.
type clause struct {
	terms []string
	args  []any
}

func (c *clause) add(term string, args ...any) {
	c.terms = append(c.terms, term)
	c.args = append(c.args, args...)
}

// and returns a clause that says both.
func (c clause) and(d clause) (both clause) {
	both.add(c.String(), c.args...)
	both.add(d.String(), d.args...)
	return both
}

// String is the clause as it follows WHERE or AND.
func (c clause) String() string {
	if len(c.terms) == 0 {
		return "TRUE"
	}
	return strings.Join(c.terms, " AND ")
}

// in is the condition that a column is one of vals, which are not none.
func in(column string, vals []string) (c clause) {
	args := make([]any, len(vals))
	for i, v := range vals {
		args[i] = v
	}
	c.add(column+" IN (?"+strings.Repeat(", ?", len(vals)-1)+")", args...)
	return c
}
