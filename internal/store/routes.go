package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"time"

	"aldis/internal/hub"
)

// A routes file begins with a line that names it. Each line after that is a
// route: the CRC-32 of the rest in hexadecimal, a space, a RouteRecord as JSON.
const routesHeader = "aldis routes 1\n"

// A RouteRecord is a route as the routes file keeps it: the message that the
// platform calls Ref was sent by Agent.
type RouteRecord struct {
	Ref     hub.Ref     `json:"ref"`
	Agent   hub.AgentID `json:"agent"`
	Preview string      `json:"preview,omitempty"`
	Sent    time.Time   `json:"sent"` // by the wall clock
}

// A RouteLog is the routes file. It grows by a line a route, until Compact. A
// crash at any byte costs no route that Append has returned for.
type RouteLog struct {
	path    string
	skipped int
	jobs    chan routeJob
	quit    chan struct{} // closed by Close
	done    chan struct{} // closed when the writer has ended
	closing sync.Once

	// owned by the writer
	size  int64 // up to the end of the last whole line
	lines int   // routes and damaged ones
}

// A routeJob is something for the writer: lines to add, or to compact.
type routeJob struct {
	text  []byte
	lines int
	live  func() []RouteRecord // compact to these
	done  chan error
}

// OpenRoutes opens the routes file at path, or makes it, and returns the
// routes in it, oldest first; of two with the same Ref the later one counts.
// It fails with Invalid if the file is something else. Close must be called.
func OpenRoutes(path string) (*RouteLog, []RouteRecord, error) {
	sweep(path)
	text, err := os.ReadFile(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, nil, hub.Errorf(hub.Unavailable, "read the routes: %w", err)
	case len(text) < len(routesHeader) && routesHeader[:len(text)] == string(text):
		text = []byte(routesHeader)
		if err := writeFile(path, text, nil); err != nil {
			return nil, nil, err
		}
	case !bytes.HasPrefix(text, []byte(routesHeader)):
		return nil, nil, hub.Errorf(hub.Invalid, "%s is not a routes file: name another one", path)
	}
	l := &RouteLog{path: path, jobs: make(chan routeJob, 256), quit: make(chan struct{}), done: make(chan struct{})}
	records := l.parse(text)
	if err := l.repair(); err != nil {
		return nil, nil, err
	}
	go l.run()
	return l, records, nil
}

// parse reads the lines of text and notes how far whole ones go.
func (l *RouteLog) parse(text []byte) (records []RouteRecord) {
	l.size = int64(len(routesHeader))
	for rest := text[l.size:]; ; l.lines++ {
		line, more, whole := bytes.Cut(rest, []byte("\n"))
		if !whole {
			return records
		}
		if r, ok := parseRoute(line); ok {
			records = append(records, r)
		} else {
			l.skipped++
		}
		l.size += int64(len(line)) + 1
		rest = more
	}
}

// parseRoute reads one line; false if it is damaged.
func parseRoute(line []byte) (r RouteRecord, ok bool) {
	sum, text, _ := bytes.Cut(line, []byte(" "))
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if err != nil || len(sum) != 8 || uint32(want) != crc32.ChecksumIEEE(text) {
		return r, false
	}
	return r, json.Unmarshal(text, &r) == nil
}

// formatRoutes writes records as lines.
func formatRoutes(records []RouteRecord) ([]byte, error) {
	var out []byte
	for _, r := range records {
		text, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("encode a route: %w", err)
		}
		out = fmt.Appendf(out, "%08x %s\n", crc32.ChecksumIEEE(text), text)
	}
	return out, nil
}

// repair cuts off a torn last line and makes the file private.
func (l *RouteLog) repair() error {
	err := os.Chmod(l.path, 0o600)
	if err == nil {
		err = os.Truncate(l.path, l.size)
	}
	if err != nil {
		return hub.Errorf(hub.Unavailable, "mend the routes: %w", err)
	}
	return nil
}

// Append adds routes to the file and returns when they are on the disk. It
// fails with Unavailable if they may not be.
func (l *RouteLog) Append(ctx context.Context, records ...RouteRecord) error {
	text, err := formatRoutes(records)
	if err != nil {
		return err
	}
	return l.do(ctx, routeJob{text: text, lines: len(records)})
}

// Compact rewrites the file if it has more than twice as many lines as there
// are routes. It calls live for those, in the writer's goroutine: a route must
// be among them before it is given to Append.
func (l *RouteLog) Compact(ctx context.Context, live func() []RouteRecord) error {
	return l.do(ctx, routeJob{live: live})
}

// Skipped returns how many damaged lines there were when the file was opened.
func (l *RouteLog) Skipped() int { return l.skipped }

// Close finishes what is being written. Append fails with Unavailable from
// then on.
func (l *RouteLog) Close() error {
	l.closing.Do(func() { close(l.quit) })
	<-l.done
	return nil
}

// do has the writer do j and waits for it.
func (l *RouteLog) do(ctx context.Context, j routeJob) error {
	j.done = make(chan error, 1)
	select {
	case l.jobs <- j:
	case <-l.quit:
		return hub.Errorf(hub.Unavailable, "the routes file is closed")
	case <-ctx.Done():
		return fmt.Errorf("write the routes: %w", context.Cause(ctx))
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("write the routes: %w", context.Cause(ctx))
	case <-l.done:
	}
	select {
	case err := <-j.done: // as the writer's last
		return err
	default:
		return hub.Errorf(hub.Unavailable, "the routes file is closed")
	}
}

// run is the writer.
func (l *RouteLog) run() {
	defer close(l.done)
	for {
		select {
		case j := <-l.jobs:
			l.serve(j)
		case <-l.quit:
			for len(l.jobs) > 0 {
				l.serve(<-l.jobs)
			}
			return
		}
	}
}

// serve does j. If it adds lines then those that wait behind are written with
// them.
func (l *RouteLog) serve(j routeJob) {
	if j.live != nil {
		j.done <- l.compact(j.live())
		return
	}
	text, lines, wait := j.text, j.lines, []chan error{j.done}
	var last *routeJob
	for last == nil && len(l.jobs) > 0 { // nobody else takes from it
		if next := <-l.jobs; next.live == nil {
			text, lines, wait = append(text, next.text...), lines+next.lines, append(wait, next.done)
		} else {
			last = &next
		}
	}
	err := l.add(text, lines)
	for _, done := range wait {
		done <- err
	}
	if last != nil {
		l.serve(*last)
	}
}

// add writes lines behind the last whole one: what a write that failed has
// left there is overwritten.
func (l *RouteLog) add(text []byte, lines int) error {
	f, err := os.OpenFile(l.path, os.O_WRONLY, 0)
	if err != nil {
		return hub.Errorf(hub.Unavailable, "write the routes: %w", err)
	}
	_, err = f.WriteAt(text, l.size)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return hub.Errorf(hub.Unavailable, "write the routes to %s; free disk space or mend the file: %w", l.path, err)
	}
	l.size += int64(len(text))
	l.lines += lines
	return nil
}

// compact rewrites the file if that is worth it.
func (l *RouteLog) compact(live []RouteRecord) error {
	if l.lines <= 2*len(live) {
		return nil
	}
	text, err := formatRoutes(live)
	if err != nil {
		return err
	}
	text = append([]byte(routesHeader), text...)
	if err := writeFile(l.path, text, nil); err != nil {
		return err
	}
	l.size, l.lines = int64(len(text)), len(live)
	return nil
}
