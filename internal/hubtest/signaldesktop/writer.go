// Package signaldesktop writes databases as Signal Desktop has them, with the
// library that Signal Desktop itself has: it drives test/signal-desktop, a
// program for Node. What a reader is tested on is never written by a reader's
// own code.
//
// A Writer and all it says are of one test: an error of the library fails the
// test with the library's words. Its methods are called from the test's own
// goroutine.
package signaldesktop

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Key is the key of all databases, as 64 hexadecimal digits.
const Key = "5169676e616c4465736b746f70466978747572654b6579303132333435363738"

// A Writer is a process that has a database open, as Signal Desktop has.
type Writer struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Start starts a process that ends with the test. It skips the test where there
// is no Node, or no library.
func Start(t testing.TB) *Writer {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no Node to write a database of Signal Desktop with; install it, and cd test && npm ci")
	}
	folder := filepath.Join(moduleRoot(t), "test")
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "@signalapp", "sqlcipher")); err != nil {
		t.Skip("the library of Signal Desktop is not installed: cd test && npm ci")
	}
	w := &Writer{t: t, cmd: exec.Command(node, filepath.Join(folder, "signal-desktop", "writer.mjs"))}
	w.cmd.Stderr = t.Output()
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.out = bufio.NewReader(out)
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.in.Close() // it ends by itself, or has ended
		_ = w.cmd.Wait() // it may have been killed
	})
	return w
}

// moduleRoot is the folder of go.mod, above that in which tests run.
func moduleRoot(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; filepath.Dir(folder) != folder; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
	}
	t.Fatal("there is no go.mod above the folder of the test")
	return ""
}

// Open opens the database that Create made in dir, maybe of another Writer that
// has been killed since.
func (w *Writer) Open(dir string) {
	w.t.Helper()
	w.ask(command{Do: "open", Path: Path(dir), Key: Key})
}

// Exec executes one statement, or without args any number of them. Args may be
// nil, bool, integers, floating-point numbers, strings and []byte.
func (w *Writer) Exec(sql string, args ...any) {
	w.t.Helper()
	w.ask(command{Do: "exec", SQL: sql, Args: w.encoded(args)})
}

// Rows executes a query and returns its rows, whose values are nil, int64,
// float64, string and []byte. Each column needs a name of its own that does not
// begin with a digit.
func (w *Writer) Rows(sql string, args ...any) [][]any {
	w.t.Helper()
	answer := w.ask(command{Do: "rows", SQL: sql, Args: w.encoded(args)})
	var raw [][]json.RawMessage
	if err := json.Unmarshal(answer, &raw); err != nil {
		w.t.Fatal(err)
	}
	rows := make([][]any, len(raw))
	for i, vals := range raw {
		rows[i] = make([]any, len(vals))
		for j, val := range vals {
			rows[i][j] = w.decoded(val)
		}
	}
	return rows
}

// Checkpoint moves the WAL into the main file, in a mode of SQLite: PASSIVE,
// FULL, RESTART or TRUNCATE. The test fails if somebody is in the way.
func (w *Writer) Checkpoint(mode string) {
	w.t.Helper()
	if got := w.Rows("PRAGMA wal_checkpoint(" + mode + ")")[0]; got[0] != int64(0) {
		w.t.Fatalf("checkpoint %s was kept from its end: busy, frames, moved: %v", mode, got)
	}
}

// Close closes the database as a Signal Desktop that quits: its WAL is moved
// and deleted. Open opens it again.
func (w *Writer) Close() {
	w.t.Helper()
	w.ask(command{Do: "close"})
}

// Kill kills the process at once, as a crash does, and waits for it: nothing is
// closed or moved. Only a new Writer can write then.
func (w *Writer) Kill() {
	w.t.Helper()
	if err := w.cmd.Process.Kill(); err != nil {
		w.t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := w.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
}

// A command is a line for the process.
type command struct {
	Do      string    `json:"do"`
	Path    string    `json:"path,omitempty"`
	Key     string    `json:"key,omitempty"`
	Version int       `json:"version,omitempty"`
	SQL     string    `json:"sql,omitempty"`
	Args    []any     `json:"args,omitempty"`
	Count   int       `json:"count,omitempty"`
	Time    int64     `json:"time,omitempty"`
	Counter int64     `json:"counter,omitempty"`
	Rare    string    `json:"rare,omitempty"`
	Common  string    `json:"common,omitempty"`
	Queries []command `json:"queries,omitempty"`
}

// ask has the process do something, and returns its answer.
func (w *Writer) ask(c command) json.RawMessage {
	w.t.Helper()
	line, err := json.Marshal(c)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.in.Write(append(line, '\n')); err != nil {
		w.t.Fatalf("%s: the writer has ended: %v", c.Do, err)
	}
	line, err = w.out.ReadBytes('\n')
	if err != nil {
		w.t.Fatalf("%s: the writer has ended: %v", c.Do, err)
	}
	var answer struct {
		OK    json.RawMessage
		Error string
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		w.t.Fatalf("%s: the writer said %q: %v", c.Do, line, err)
	}
	if answer.Error != "" {
		w.t.Fatalf("%s: %s\n%s", c.Do, answer.Error, c.SQL)
	}
	return answer.OK
}

type (
	integer struct {
		Int int64 `json:"int,string"`
	}
	blob struct {
		Blob []byte `json:"blob"`
	}
)

func (w *Writer) encoded(args []any) []any {
	w.t.Helper()
	encoded := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case nil, string, float64:
			encoded[i] = arg
		case bool:
			encoded[i] = integer{}
			if arg {
				encoded[i] = integer{1}
			}
		case int:
			encoded[i] = integer{int64(arg)}
		case int64:
			encoded[i] = integer{arg}
		case []byte:
			encoded[i] = blob{arg}
		default:
			w.t.Fatalf("argument %d is a %T, which SQLite has not", i, arg)
		}
	}
	return encoded
}

func (w *Writer) decoded(raw json.RawMessage) (val any) {
	w.t.Helper()
	var err error
	switch {
	case raw[0] == '"':
		var s string
		err = json.Unmarshal(raw, &s)
		val = s
	case raw[0] == '{':
		var b blob
		err = json.Unmarshal(raw, &b)
		val = b.Blob
	case string(raw) == "null":
	case strings.ContainsAny(string(raw), ".e"):
		var f float64
		err = json.Unmarshal(raw, &f)
		val = f
	default:
		var i int64
		err = json.Unmarshal(raw, &i)
		val = i
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return val
}
