package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"aldis/internal/config"
	"aldis/internal/store"
)

// importCmd is aldis import.
type importCmd struct {
	Salon importSalonCmd `cmd:"" help:"Take over the messages of agent-salon. The hub must not be running."`
}

type importSalonCmd struct {
	config.Import
	File string `arg:"" help:"Database of agent-salon. It is not changed."`
}

// Run takes the messages over, once: what is in the record already is left out.
func (c *importSalonCmd) Run(ctx context.Context, e env) (err error) {
	dir, err := store.OpenDir(c.StateDir, store.Holder{PID: os.Getpid(), Since: time.Now().UTC()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	record, err := openRecord(ctx, store.Options{Path: c.DB, Log: logger(c.Common, e.stderr)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, record.Close()) }()
	all, told := 0, time.Now()
	added, err := record.ImportSalon(ctx, c.File, func(seen, total int) {
		all = total
		if time.Since(told) > time.Second {
			told = time.Now()
			fmt.Fprintf(e.stderr, "%d of %d messages\n", seen, total)
		}
	})
	if err != nil {
		return fmt.Errorf("import %s: %w", c.File, err)
	}
	_, err = fmt.Fprintf(e.stdout, "%d messages taken over, %d were there already.\n", added, all-added)
	return err
}
