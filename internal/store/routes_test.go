package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"aldis/internal/hub"
)

func route(n int) RouteRecord {
	return RouteRecord{
		Ref: hub.Ref{Platform: "signal", Chat: "c", Key: fmt.Sprint(n)}, Agent: "a",
		Preview: "line\nbreak", Sent: time.Date(2026, 3, 1, 12, 0, n, 0, time.UTC),
	}
}

// openRoutes opens a routes file and closes it with the test.
func openRoutes(t *testing.T, path string) (*RouteLog, []RouteRecord) {
	t.Helper()
	l, records, err := OpenRoutes(path)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l, records
}

// A file that ends at any byte holds every whole route before it, and takes
// new ones.
func TestRoutesSurviveAKillAtAnyByte(t *testing.T) {
	dir := t.TempDir()
	l, _ := openRoutes(t, filepath.Join(dir, "whole"))
	want := []RouteRecord{route(0), route(1), route(2)}
	ends := []int{len(routesHeader)}
	for _, r := range want {
		must(t, l.Append(t.Context(), r))
		ends = append(ends, int(l.size)) // the writer is idle
	}
	text, err := os.ReadFile(l.path)
	must(t, err)
	for cut := range len(text) + 1 {
		path := filepath.Join(dir, "torn")
		must(t, os.WriteFile(path, text[:cut], 0o644))
		whole := 0
		for whole < len(want) && ends[whole+1] <= cut {
			whole++
		}
		l, records, err := OpenRoutes(path)
		must(t, err)
		expect(t, fmt.Sprint("routes of ", cut, " bytes"), records, want[:whole])
		must(t, l.Append(t.Context(), route(9)))
		must(t, l.Close())
		l, records, err = OpenRoutes(path)
		must(t, err)
		must(t, l.Close())
		expect(t, fmt.Sprint("routes of ", cut, " bytes and one more"), records, append(want[:whole:whole], route(9)))
	}
	info, err := os.Stat(filepath.Join(dir, "torn"))
	must(t, err)
	expect(t, "mode", info.Mode().Perm(), os.FileMode(0o600))
}

// A damaged line costs that line alone.
func TestRoutesSkipDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "routes")
	l, _ := openRoutes(t, path)
	must(t, l.Append(t.Context(), route(0), route(1), route(2)))
	must(t, l.Close())
	text, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, bytes.Replace(text, []byte(`"Key":"1"`), []byte(`"Key":"7"`), 1), 0o600))
	l, records := openRoutes(t, path)
	expect(t, "routes", records, []RouteRecord{route(0), route(2)})
	expect(t, "skipped", l.Skipped(), 1)
}

// A file that is something else is refused and left alone.
func TestRoutesRefuseAnotherFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "routes")
	must(t, os.WriteFile(path, []byte("my diary\n"), 0o600))
	_, _, err := OpenRoutes(path)
	expectKind(t, "open", err, hub.Invalid)
	text, err := os.ReadFile(path)
	must(t, err)
	expect(t, "the file", string(text), "my diary\n")
}

// The file is rewritten when more than half of it is of no use.
func TestRoutesCompact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "routes")
	l, _ := openRoutes(t, path)
	for n := range 5 {
		must(t, l.Append(t.Context(), route(n)))
	}
	size := func() int64 {
		info, err := os.Stat(path)
		must(t, err)
		return info.Size()
	}
	before := size()
	must(t, l.Compact(t.Context(), func() []RouteRecord { return []RouteRecord{route(2), route(3), route(4)} }))
	expect(t, "size when most are live", size(), before)
	must(t, l.Compact(t.Context(), func() []RouteRecord { return []RouteRecord{route(3), route(4)} }))
	must(t, l.Append(t.Context(), route(5)))
	must(t, l.Close())
	_, records := openRoutes(t, path)
	expect(t, "routes", records, []RouteRecord{route(3), route(4), route(5)})
}

// Routes that are given at the same time are all kept; a write that fails
// leaves nothing in the way of the next.
func TestRoutesAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "routes")
	l, _ := openRoutes(t, path)
	var wg sync.WaitGroup
	for n := range 50 {
		wg.Go(func() {
			if err := l.Append(t.Context(), route(n)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	must(t, os.Rename(path, path+".away"))
	expectKind(t, "append to no file", l.Append(t.Context(), route(50)), hub.Unavailable)
	must(t, os.Rename(path+".away", path))
	must(t, l.Append(t.Context(), route(51)))
	must(t, l.Close())
	expectKind(t, "append to a closed file", l.Append(t.Context(), route(52)), hub.Unavailable)
	l, records := openRoutes(t, path)
	if len(records) != 51 || l.Skipped() != 0 {
		t.Errorf("%d routes and %d damaged lines, want 51 and none", len(records), l.Skipped())
	}
}

// No line makes the reader fail, and only a line as it was written is a route.
func FuzzParseRoute(f *testing.F) {
	text, err := formatRoutes([]RouteRecord{route(1)})
	must(f, err)
	f.Add(bytes.TrimSpace(text))
	f.Add([]byte("00000000 "))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, ok := parseRoute(line)
		if !ok {
			return
		}
		text, err := formatRoutes([]RouteRecord{r})
		must(t, err)
		if again, ok := parseRoute(bytes.TrimSpace(text)); !ok || again.Ref != r.Ref || !again.Sent.Equal(r.Sent) {
			t.Errorf("%q came back as %+v", line, again)
		}
	})
}
