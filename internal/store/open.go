package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"

	"aldis/internal/hub"
)

// maxReaders is how many connections read. Many more starve the writer.
const maxReaders = 8

//go:embed migrations/*.sql
var migrations embed.FS

// open opens the connections and starts the writer.
func (s *Store) open(ctx context.Context) (err error) {
	if err := s.connect(ctx); err != nil {
		return err
	}
	if err := s.migrate(ctx); err != nil {
		return fmt.Errorf("migrate the record %s: %w", s.opts.Path, err)
	}
	if err := s.makeShrinkable(ctx); err != nil {
		return err
	}
	if s.opts.Path != "" {
		if s.readers, err = sql.Open("sqlite", dsn(s.opts.Path, "query_only(1)")); err != nil {
			return fmt.Errorf("open the record %s: %w", s.opts.Path, err)
		}
		s.readers.SetMaxOpenConns(maxReaders)
		s.readers.SetMaxIdleConns(maxReaders)
	}
	tx, err := s.begin(ctx)
	if err != nil {
		return fmt.Errorf("read the record %s: %w", s.opts.Path, err)
	}
	go tx.run()
	return nil
}

// connect opens the writer's database.
func (s *Store) connect(ctx context.Context) (err error) {
	// As SQLite does by itself where its build looks for it: a flush takes half
	// the time. Where there is none, nothing changes.
	_, _ = sqlite.Fdatasync(true)
	name := ":memory:?_pragma=foreign_keys(1)"
	if s.opts.Path != "" {
		if s.opts.Path, err = filepath.Abs(s.opts.Path); err != nil {
			return fmt.Errorf("find the record: %w", err)
		}
		mark, empty, err := claim(ctx, s.opts.Path)
		if err != nil {
			return err
		}
		pragmas := []string{"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"}
		if mark { // the id first: write-ahead logging would keep it out of the file itself for a while
			pragmas = slices.Insert(pragmas, 0, fmt.Sprintf("application_id(%d)", applicationID))
		}
		if empty { // before there is a page
			pragmas = slices.Insert(pragmas, 0, fmt.Sprintf("auto_vacuum(%d)", incremental))
		}
		name = dsn(s.opts.Path, pragmas...)
	}
	if s.writer, err = sql.Open("sqlite", name); err == nil {
		s.writer.SetMaxOpenConns(1) // in memory each connection would be a database of its own
		err = s.writer.PingContext(ctx)
	}
	if err != nil {
		return s.fault("opened", fmt.Errorf("open the record %s: %w", s.opts.Path, err))
	}
	return nil
}

// dsn names the database at an absolute path to the driver.
func dsn(path string, pragmas ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // file:///C:/…
	}
	query := url.Values{"_pragma": append([]string{"busy_timeout(5000)"}, pragmas...)} // milliseconds
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}
	return u.String()
}

// migrate brings the schema up to date.
func (s *Store) migrate(ctx context.Context) error {
	steps, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, s.writer, steps, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if have > want {
		return hub.Errorf(hub.Invalid, "it has version %d, and this program knows versions up to %d: use a newer program", have, want)
	}
	if have == want {
		return nil
	}
	if _, err := p.Up(ctx); err != nil {
		return err
	}
	s.opts.Log.InfoContext(ctx, "record migrated", "path", s.opts.Path, "from", have, "to", want)
	return nil
}

// begin makes the writer.
func (s *Store) begin(ctx context.Context) (*txn, error) {
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return nil, err
	}
	tx := &txn{s: s, conn: conn, stmts: make(map[string]*sql.Stmt), chats: make(map[hub.Ref]bool)}
	if err := tx.recall(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return tx, nil
}

// recall reads what the writer needs to know of the past.
func (tx *txn) recall(ctx context.Context) error {
	reserved, _, err := one(ctx, tx, column[int64], "SELECT reserved FROM counter")
	if err != nil {
		return err
	}
	// The time, because clients may remember Seqs of a database that was lost.
	tx.reserved = hub.Seq(reserved)
	tx.next = max(tx.reserved+1, hub.Seq(micros(tx.s.opts.Now())))
	tx.s.last.Store(uint64(tx.next - 1))
	if tx.searched, _, err = one(ctx, tx, column[int64], "SELECT searched FROM counter"); err != nil {
		return err
	}
	newest, _, err := one(ctx, tx, column[int64], "SELECT COALESCE(max(seq), 0) FROM record")
	if err != nil {
		return err
	}
	tx.newest = max(newest, tx.searched) // the newest may be deleted, and the clock set back
	chats, err := chats(ctx, tx)
	if err != nil {
		return err
	}
	for _, chat := range chats {
		tx.chats[chat] = true
	}
	return tx.s.tokens.load(ctx, tx)
}

// closeDBs closes what was opened.
func (s *Store) closeDBs() error {
	var errs []error
	for _, db := range []*sql.DB{s.readers, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}
