package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"aldis/internal/hub"
)

// What is printed is for a person at a terminal, or for a program behind a pipe.

// isTerminal takes any character device but the null one for a terminal.
func isTerminal(stream any) bool {
	f, isFile := stream.(*os.File)
	if !isFile {
		return false
	}
	info, err := f.Stat()
	null, nullErr := os.Stat(os.DevNull)
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && (nullErr != nil || !os.SameFile(info, null))
}

// colors reports whether a stream may have colors (https://no-color.org).
func (e env) colors(stream any) bool { return isTerminal(stream) && e.getenv("NO_COLOR") == "" }

// watched is where somebody sees what is waited for; nil: nobody looks.
func (e env) watched() io.Writer {
	if !isTerminal(e.stderr) {
		return nil
	}
	return e.stderr
}

// cellBytes bounds a cell of a table.
const cellBytes = 1000

// A table is rows of cells. On a terminal its columns are aligned, below their
// names if they have any; elsewhere there is one tab between cells, no names,
// and times are in UTC. Nothing in a cell makes a terminal do something.
type table struct {
	out      io.Writer
	terminal bool
	rows     strings.Builder
}

func newTable(e env, names ...string) *table {
	t := &table{out: e.stdout, terminal: isTerminal(e.stdout)}
	if t.terminal && len(names) > 0 {
		t.row(names...)
	}
	return t
}

func (t *table) row(cells ...string) {
	for i, cell := range cells {
		if i > 0 {
			t.rows.WriteByte('\t')
		}
		t.rows.WriteString(hub.OneLine(cell, cellBytes))
	}
	t.rows.WriteByte('\n')
}

// moment is a time as a cell shows it.
func (t *table) moment(at time.Time) string {
	if t.terminal {
		return at.Local().Format(time.DateTime)
	}
	return at.UTC().Format(time.RFC3339)
}

// print writes the rows.
func (t *table) print() error {
	if !t.terminal {
		_, err := io.WriteString(t.out, t.rows.String())
		return err
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(w, t.rows.String()); err != nil {
		return err
	}
	return w.Flush()
}

// A progress says how far something is, once a second. A nil one is silent.
type progress struct {
	out  io.Writer
	told time.Time
}

func newProgress(e env) *progress { return &progress{e.stderr, time.Now()} }

func (p *progress) say(format string, args ...any) {
	if p != nil && time.Since(p.told) > time.Second {
		p.told = time.Now()
		fmt.Fprintf(p.out, format+"\n", args...)
	}
}
