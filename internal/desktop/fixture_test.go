package desktop

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aldis/internal/desktop/sqlcipher"
	"aldis/internal/hubtest/signaldesktop"
)

// schemas are the versions that the readers' tests run on: the attachments are in
// json, in a table, in a newer table, and in one of a Signal that is to come.
var schemas = []int{1330, 1460, 1830, 9999}

// A desktop is a Signal Desktop of a test, in which we are "self".
type desktop struct {
	*signaldesktop.Writer
	dir string
}

// newDesktop makes a database with o, and starts who writes to it.
func newDesktop(t testing.TB, o signaldesktop.Options) desktop {
	t.Helper()
	d := desktop{signaldesktop.Start(t), t.TempDir()}
	d.Create(d.dir, o)
	return d
}

func (d desktop) options(t testing.TB) Options {
	t.Helper()
	key, err := sqlcipher.ParseKey(signaldesktop.Key)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Path: filepath.Join(d.dir, "sql", "db.sqlite"), Key: key}
}

// reader opens the database for as long as the test runs.
func (d desktop) reader(t testing.TB, g Grants) *Reader {
	t.Helper()
	o := d.options(t)
	o.Grants = g
	r, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// columns are a row of a table.
type columns map[string]any

// put inserts or replaces rows. Values of maps and slices are put in as JSON.
func (d desktop) put(table string, rows ...columns) {
	for _, row := range rows {
		names := slices.Sorted(maps.Keys(row))
		args := make([]any, len(names))
		for i, name := range names {
			args[i] = row[name]
			switch val := args[i].(type) {
			case columns:
				args[i] = asJSON(val)
			case bool:
				args[i] = map[bool]int{false: 0, true: 1}[val]
			}
		}
		d.Exec(fmt.Sprintf("INSERT OR REPLACE INTO %s (%s) VALUES (?%s)", table, strings.Join(names, ", "), strings.Repeat(", ?", len(names)-1)), args...)
	}
}

func asJSON(val any) string {
	b, err := json.Marshal(val)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// people puts in whom the tests of rows name.
func (d desktop) people() {
	d.put("items", columns{"id": "uuid_id", "json": columns{"id": "uuid_id", "value": "self.2"}})
	for _, c := range []struct {
		id, kind string
		at       int
		json     columns
	}{
		{"c-self", "private", 10, columns{"serviceId": "self", "profileName": "Me"}},
		{"c-ada", "private", 30, columns{"serviceId": "ada", "profileName": "Ada", "profileFamilyName": "Lovelace", "e164": "+491701234567"}},
		{"c-bob", "private", 20, columns{"serviceId": "bob", "name": "+49 170 7654321", "username": "bob.01"}},
		{"c-team", "group", 40, columns{"name": "Team", "membersV2": []columns{{"aci": "ada"}, {"aci": "self"}}}},
	} {
		row := columns{"id": c.id, "type": c.kind, "active_at": c.at, "json": c.json}
		if id := c.json["serviceId"]; id != nil {
			row["serviceId"] = id
		}
		d.put("conversations", row)
	}
}

// on runs a test on each of the schemas.
func on(t *testing.T, test func(t *testing.T, schema int)) {
	for _, schema := range schemas {
		t.Run(fmt.Sprint("schema ", schema), func(t *testing.T) { test(t, schema) })
	}
}

// ids are those of messages, in order.
func ids(msgs []Message) []string {
	ids := []string{}
	for _, m := range msgs {
		ids = append(ids, m.ID)
	}
	return ids
}

// walked returns the ids of a query's messages as it walks, over all pages, and
// how many those were. limit says how many each may have.
func walked(ctx context.Context, r *Reader, q MessageQuery, limit func() int) (all []string, pages int, err error) {
	for {
		q.Limit = limit()
		ans, err := r.Messages(ctx, q)
		if err != nil {
			return all, pages, err
		}
		page := ids(ans.Messages)
		if !q.Newer {
			slices.Reverse(page)
		}
		all = append(all, page...)
		if pages++; ans.HasMore != (ans.NextCursor != "") {
			return all, pages, fmt.Errorf("page %d has more: %v, but its cursor is %q", pages, ans.HasMore, ans.NextCursor)
		}
		if q.Cursor = ans.NextCursor; !ans.HasMore {
			return all, pages, nil
		}
	}
}
