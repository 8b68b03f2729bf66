package store

import (
	"context"
	"slices"
)

// isSalon reports whether q is a database of seed agent-salon.md.
func isSalon(ctx context.Context, q querier) bool {
	have, err := all(ctx, q, column[string], "SELECT name FROM pragma_table_info('messages')")
	for _, col := range []string{"id", "ts", "via", "source", "target", "content", "meta", "delivered_to", "delivery_errors"} {
		if !slices.Contains(have, col) {
			return false
		}
	}
	return err == nil
}
