package signaldesktop

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"math"
	"strings"
)

// Dump returns, for each table but virtual ones, the number of its rows and a
// hash of all its values, as Signal Desktop's library reads them. [DumpOf] says
// the same of the same values, whoever has read them.
func (w *Writer) Dump() (tables map[string]string) {
	w.t.Helper()
	if err := json.Unmarshal(w.ask(command{Do: "dump"}), &tables); err != nil {
		w.t.Fatal(err)
	}
	return tables
}

// DumpOf is [Writer.Dump] of a database that is open already decrypted. See
// test/signal-desktop/dump.mjs for what is hashed.
func DumpOf(ctx context.Context, db *sql.DB) (map[string]string, error) {
	names, err := texts(ctx, db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL %'")
	if err != nil {
		return nil, err
	}
	tables := map[string]string{}
	for _, name := range names {
		if tables[name], err = dumpOf(ctx, db, name); err != nil {
			return nil, fmt.Errorf("reading table %s: %w", name, err)
		}
	}
	return tables, nil
}

func dumpOf(ctx context.Context, db *sql.DB, table string) (string, error) {
	columns, err := texts(ctx, db, "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid", table)
	if err != nil {
		return "", err
	}
	vals, to := make([]any, len(columns)), make([]any, len(columns))
	for i, name := range columns {
		columns[i] = `+"` + name + `"` // the value itself, but no column, whose declared type a driver would go by
		to[i] = &vals[i]
	}
	rows, err := db.QueryContext(ctx, fmt.Sprintf(`SELECT %s FROM "%s" NOT INDEXED`, strings.Join(columns, ", "), table))
	if err != nil {
		return "", err
	}
	defer rows.Close()
	count, sum := 0, sha256.New()
	for ; rows.Next(); count++ {
		if err := rows.Scan(to...); err != nil {
			return "", err
		}
		for _, val := range vals {
			write(sum, val)
		}
	}
	return fmt.Sprintf("%d %x", count, sum.Sum(nil)), rows.Err()
}

func write(sum hash.Hash, val any) {
	switch val := val.(type) {
	case nil:
		sum.Write([]byte("null "))
	case int64:
		fmt.Fprintf(sum, "integer %d", val)
	case float64:
		fmt.Fprintf(sum, "real %016x", math.Float64bits(val))
	case []byte:
		sum.Write([]byte("blob " + hex.EncodeToString(val)))
	default:
		fmt.Fprintf(sum, "text %v", val)
	}
	sum.Write([]byte{0})
}

func texts(ctx context.Context, db *sql.DB, query string, args ...any) (all []string, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}
