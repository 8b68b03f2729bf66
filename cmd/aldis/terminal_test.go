package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A table is aligned for people, and has tabs for programs.
func TestTable(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	for _, tt := range []struct {
		name     string
		terminal bool
		want     string
	}{
		{"on a terminal", true, "NAME        AGENT\nlonger-one  a\nx           2026-03-01 12:00:00\nb\ufffd[31m      c d\n"},
		{"in a pipe", false, "longer-one\ta\nx\t" + at.UTC().Format(time.RFC3339) + "\nb\ufffd[31m\tc d\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			list := &table{out: &out, terminal: tt.terminal}
			if tt.terminal {
				list.row("NAME", "AGENT")
			}
			list.row("longer-one", "a")
			list.row("x", list.moment(at))
			list.row("b\x1b[31m", "c\td")
			if err := list.print(); err != nil || out.String() != tt.want {
				t.Errorf("printed %q (%v), want %q", out.String(), err, tt.want)
			}
		})
	}
}

// What is no terminal has no colors, whatever the variable says.
func TestColors(t *testing.T) {
	e := env{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}, getenv: func(string) string { return "" }}
	if e.colors(e.stdout) || e.watched() != nil {
		t.Error("a buffer is taken for a terminal")
	}
}

// A progress is silent for a second, and then says so once a second.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(env{stderr: &out})
		for n := range 25 {
			p.say("%d of 25", n)
			time.Sleep(100 * time.Millisecond)
		}
		if out.String() != "11 of 25\n22 of 25\n" {
			t.Errorf("said %q", out.String())
		}
		(*progress)(nil).say("nothing")
	})
}

// --help of each command has an example, and that of the program the exit
// codes.
func TestHelp(t *testing.T) {
	parser, known := parserFor(t, nil), map[string]bool{}
	for _, command := range parser.Model.Leaves(true) {
		if !strings.Contains(command.Detail, "Examples:\n  ") {
			t.Errorf("aldis %s has no example", commandName(command))
		}
		for _, line := range strings.Split(command.Detail, "\n") {
			if example, indented := strings.CutPrefix(line, "  "); indented {
				checkLines(t, example)
			}
		}
		known[commandName(command)] = true
	}
	for name := range examples {
		if !known[name] {
			t.Errorf("there are examples of aldis %s, which there is not", name)
		}
	}
	if !strings.Contains(parser.Model.Detail, "Exit codes: 0") {
		t.Error("aldis --help does not say the exit codes")
	}
}
