package sqlcipher_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"
	"modernc.org/sqlite/vfs"

	"aldis/internal/desktop/sqlcipher"
	"aldis/internal/hubtest/signaldesktop"
)

// An image is a file system with a snapshot as its only file, for SQLite.
type image struct{ *sqlcipher.Snapshot }

func (i image) Open(name string) (fs.File, error) {
	if name != "db" {
		return nil, fs.ErrNotExist
	}
	return imageFile{io.NewSectionReader(i, 0, i.Size())}, nil
}

type imageFile struct{ *io.SectionReader }

func (imageFile) Close() error                 { return nil }
func (f imageFile) Stat() (fs.FileInfo, error) { return imageInfo{size: f.Size()}, nil }

type imageInfo struct {
	fs.FileInfo
	size int64
}

func (i imageInfo) Size() int64 { return i.size }

// query calls f with an SQLite that reads the snapshot.
func query(s *sqlcipher.Snapshot, f func(*sql.DB) error) error {
	name, files, err := vfs.New(image{s})
	if err != nil {
		return err
	}
	defer files.Close()
	db, err := sql.Open("sqlite", "file:db?vfs="+name+"&_pragma=temp_store(memory)&_pragma=query_only(1)")
	if err != nil {
		return err
	}
	defer db.Close()
	return f(db)
}

// rows reads all rows of a query as text.
func rows(db *sql.DB, text string) (all []string, err error) {
	r, err := db.Query(text)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for r.Next() {
		var s sql.NullString
		if err := r.Scan(&s); err != nil {
			return nil, err
		}
		all = append(all, s.String)
	}
	return all, r.Err()
}

// Every value of every ordinary table comes as one row of text, in an order that
// SQLite and SQLCipher share. Both make the texts, by the same SQL.
const tablesSQL = `SELECT name FROM sqlite_schema
	WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name`

func columnsSQL(table string) string {
	return fmt.Sprintf(`SELECT name FROM pragma_table_xinfo('%s') ORDER BY cid`, table)
}

func valuesSQL(table string, columns []string) string {
	for i, c := range columns {
		columns[i] = `quote("` + c + `")`
	}
	values := strings.Join(columns, ` || ',' || `)
	return fmt.Sprintf(`SELECT %s AS v FROM "%s" ORDER BY v`, values, table)
}

// contents returns all values, a line a row, by a way to ask.
func contents(ask func(string) ([]string, error)) (string, error) {
	tables, err := ask(tablesSQL)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, table := range tables {
		columns, err := ask(columnsSQL(table))
		if err != nil {
			return "", err
		}
		values, err := ask(valuesSQL(table, columns))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&all, "== %s, %d rows\n%s\n", table, len(values), strings.Join(values, "\n"))
	}
	return all.String(), nil
}

// read opens the database at path and returns all that is in it.
func read(path string) (all string, err error) {
	key, err := sqlcipher.ParseKey(signaldesktop.Key)
	if err != nil {
		return "", err
	}
	db, err := sqlcipher.Open(path, key)
	if err != nil {
		return "", err
	}
	defer db.Close()
	s, err := db.Snapshot(context.Background())
	if err != nil {
		return "", err
	}
	defer s.Close()
	err = query(s, func(db *sql.DB) (err error) {
		all, err = contents(func(text string) ([]string, error) { return rows(db, text) })
		return errors.Join(err, intact(db))
	})
	if valid, verr := s.Valid(); verr != nil || !valid {
		return "", fmt.Errorf("valid is %v, %w", valid, verr)
	}
	return all, err
}

// intact has SQLite check each ordinary table with its indexes; it does not know
// the tokenizer of the others.
func intact(db *sql.DB) error {
	tables, err := rows(db, tablesSQL)
	for _, table := range tables {
		said, cerr := rows(db, `PRAGMA integrity_check('`+table+`')`)
		if cerr == nil && strings.Join(said, " ") != "ok" {
			cerr = fmt.Errorf("table %s is not intact: %q", table, said)
		}
		err = errors.Join(err, cerr)
	}
	return err
}

// A trace is what reading may not leave: what is in a folder, of which size, and
// when it was last written to.
func trace(t testing.TB, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&all, "%s %s %s", path, info.Mode(), info.ModTime().Format(time.RFC3339Nano))
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(b)
			fmt.Fprintf(&all, " %d %s", len(b), hex.EncodeToString(sum[:]))
		}
		all.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
