// Package journal writes what the hub does into a file, one JSON object a line:
// each message with its text, for whoever names the file asks for that, and
// what becomes of messages and sessions.
//
// Its one rule: the hub never waits for the file. What can't be written is
// counted, and gone.
package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"aldis/internal/hub"
)

// The bounds of what waits to be written, and of one write.
const (
	maxLines = 4096
	maxBytes = 16 << 20 // of text
	oneWrite = 64 << 10 // or one line
)

// A Journal is such a file. It is a [hub.Watcher].
type Journal struct {
	path    string
	log     *slog.Logger
	now     func() time.Time
	queue   chan entry
	waiting atomic.Int64 // bytes of text in queue
	dropped atomic.Uint64
	reopen  chan struct{} // cap 1
	quit    chan struct{} // closed by Close
	done    chan struct{} // closed when run has ended
	closing sync.Once

	// owned by run
	file    *os.File
	torn    bool // the last line in the file has no end
	failing bool // the last write did
}

// An entry is a line to be.
type entry struct {
	value any
	size  int
}

// Open opens the file at path to append to it, or makes one that its owner
// alone can read. It fails with Invalid if path is something else than a file,
// as a pipe that nobody reads would hold up the end of the hub. Close must be
// called.
func Open(path string, log *slog.Logger) (*Journal, error) {
	j, err := open(path, log)
	if err != nil {
		return nil, err
	}
	go j.run()
	return j, nil
}

func open(path string, log *slog.Logger) (*Journal, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	return &Journal{
		path: path, log: log, now: time.Now, file: f,
		queue: make(chan entry, maxLines), reopen: make(chan struct{}, 1),
		quit: make(chan struct{}), done: make(chan struct{}),
	}, nil
}

func openFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, hub.Errorf(hub.Invalid, "%s is not a file: name one, or a place for one", path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for the log of messages: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of messages: %w", err)
	}
	return f, nil
}

// Reopen has the file opened anew, where another one was put in its place. It
// does not wait.
func (j *Journal) Reopen() {
	select {
	case j.reopen <- struct{}{}:
	default:
	}
}

// Dropped returns how many lines were not written: too many were waiting, or
// the file did not take them.
func (j *Journal) Dropped() uint64 { return j.dropped.Load() }

// Close writes what waits and closes the file. What comes later is lost.
func (j *Journal) Close() error {
	var err error
	j.closing.Do(func() {
		close(j.quit)
		<-j.done
		err = j.file.Close()
	})
	return err
}

// put queues a line with so many bytes of text.
func (j *Journal) put(value any, size int) {
	if j.waiting.Add(int64(size)) <= maxBytes {
		select {
		case j.queue <- entry{value, size}:
			return
		default:
		}
	}
	j.waiting.Add(-int64(size))
	j.dropped.Add(1)
}

// run writes what is queued, until Close.
func (j *Journal) run() {
	defer close(j.done)
	for {
		select {
		case e := <-j.queue:
			j.write(e)
		case <-j.reopen:
			j.openAgain()
		case <-j.quit:
			for e, ok := j.next(); ok; e, ok = j.next() {
				j.write(e)
			}
			return
		}
	}
}

// next returns what is queued, if anything is.
func (j *Journal) next() (e entry, ok bool) {
	select {
	case e = <-j.queue:
		return e, true
	default:
		return e, false
	}
}

// write writes e, and what is behind it as far as it goes into one write.
func (j *Journal) write(e entry) {
	var b bytes.Buffer
	if j.torn {
		b.WriteByte('\n')
	}
	lines := 0
	for more := true; more; {
		j.waiting.Add(-int64(e.size))
		j.encode(&b, e.value)
		if lines++; b.Len() >= oneWrite {
			break
		}
		e, more = j.next()
	}
	j.flush(b.Bytes(), lines)
}

func (j *Journal) encode(b *bytes.Buffer, value any) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic(err) // texts and numbers alone
	}
}

// flush writes b, which has so many lines to be counted if they are not
// written whole.
func (j *Journal) flush(b []byte, lines int) {
	n, err := j.file.Write(b)
	if err != nil {
		whole := bytes.Count(b[:n], []byte{'\n'})
		if j.torn && n > 0 {
			whole-- // that ended the one before
		}
		j.dropped.Add(uint64(lines - whole))
	}
	if n > 0 {
		j.torn = b[n-1] != '\n'
	}
	switch {
	case err != nil && !j.failing:
		j.log.Error("the log of messages cannot be written", "path", j.path, "err", err)
	case err == nil && j.failing:
		j.log.Info("the log of messages is written again", "path", j.path, "dropped", j.Dropped())
	}
	j.failing = err != nil
}

// openAgain goes on with the file that was there if it can't.
func (j *Journal) openAgain() {
	f, err := openFile(j.path)
	if err != nil {
		j.log.Error("the log of messages cannot be opened again", "path", j.path, "err", err)
		return
	}
	if err := j.file.Close(); err != nil {
		j.log.Error("close the log of messages", "path", j.path, "err", err)
	}
	j.file, j.torn = f, false
}
