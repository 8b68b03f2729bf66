package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aldis/internal/hub"
)

// A state folder has one holder, and who comes second learns who that is.
func TestDirHasOneHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "state")
	self := Holder{PID: 4711, Since: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Address: "127.0.0.1:8765"}
	d, err := OpenDir(path, self)
	must(t, err)
	info, err := os.Stat(path)
	must(t, err)
	expect(t, "mode", info.Mode().Perm(), os.FileMode(0o700))

	_, err = OpenDir(path, Holder{PID: 1})
	expectKind(t, "a second holder", err, hub.Conflict)
	for _, want := range []string{path, "4711", "2026-03-01 12:00:00", "127.0.0.1:8765"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error %q does not say %q", err, want)
		}
	}
	must(t, d.Close())
	d, err = OpenDir(path, Holder{PID: 2})
	must(t, err)
	must(t, d.Close())
}

// A file is replaced whole; what a killed process left is swept away.
func TestDirWritesFilesWhole(t *testing.T) {
	path := t.TempDir()
	must(t, os.WriteFile(filepath.Join(path, "access.json.123.tmp"), nil, 0o600))
	d, err := OpenDir(path, Holder{})
	must(t, err)
	defer d.Close()
	for _, text := range []string{"first, and longer", "second"} {
		must(t, d.WriteFile("access.json", []byte(text)))
		got, err := os.ReadFile(d.Path("access.json"))
		must(t, err)
		expect(t, "content", string(got), text)
	}
	info, err := os.Stat(d.Path("access.json"))
	must(t, err)
	expect(t, "mode", info.Mode().Perm(), os.FileMode(0o600))
	expectKind(t, "no such folder", d.WriteFile("no/file", nil), hub.Unavailable)

	var names []string
	entries, err := os.ReadDir(path)
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	expect(t, "files", names, []string{"access.json", "lock"})
}

// A file that somebody changes by hand in this moment stays as they have it.
func TestReplaceFile(t *testing.T) {
	d, err := OpenDir(t.TempDir(), Holder{})
	must(t, err)
	defer d.Close()
	for _, tt := range []struct {
		name string
		old  []byte
		want hub.Kind // empty: it is replaced
	}{
		{"a file that is not there", []byte("x"), hub.Conflict},
		{"none", nil, ""},
		{"none, where there is one", nil, hub.Conflict},
		{"another", []byte("x"), hub.Conflict},
		{"the same", []byte("none"), ""},
	} {
		before, _ := os.ReadFile(d.Path("f"))
		err := d.ReplaceFile("f", tt.old, []byte(tt.name))
		after, _ := os.ReadFile(d.Path("f"))
		switch {
		case tt.want == "" && (err != nil || string(after) != tt.name):
			t.Errorf("%s: %q, %v", tt.name, after, err)
		case tt.want != "" && (hub.KindOf(err) != tt.want || string(after) != string(before)):
			t.Errorf("%s: %q, %v; want %s", tt.name, after, err, tt.want)
		}
	}
	if left, _ := filepath.Glob(d.Path("*.tmp")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
