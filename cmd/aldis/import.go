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
	record, err := openRecord(ctx, store.Options{Path: c.DB, Log: logger(c.Common, e)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, record.Close()) }()
	all, shown := 0, newProgress(e)
	added, err := record.ImportSalon(ctx, c.File, func(seen, total int) {
		all = total
		shown.say("%d of %d messages", seen, total)
	})
	if err != nil {
		return fmt.Errorf("import %s: %w", c.File, err)
	}
	_, err = fmt.Fprintf(e.stdout, "%d messages taken over, %d were there already.\n", added, all-added)
	return err
}
