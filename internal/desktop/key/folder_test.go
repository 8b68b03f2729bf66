package key

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// database makes the files of a database in a folder of Signal's, and returns
// the path of the main one.
func database(t *testing.T, folder string, more ...string) string {
	t.Helper()
	db := filepath.Join(folder, "sql", "db.sqlite")
	if err := os.MkdirAll(filepath.Dir(db), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range append(more, "") {
		if err := os.WriteFile(db+suffix, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func TestPlacesOfEachSystem(t *testing.T) {
	env := map[string]string{"HOME": "/h", "APPDATA": "/a"}
	for _, tt := range []struct {
		name, os, xdg string
		want          []string
	}{
		{"Linux", "linux", "", []string{"/h/.config/Signal", "/h/snap/signal-desktop/current/.config/Signal", "/h/.var/app/org.signal.Signal/config/Signal"}},
		{"Linux with a folder of its own", "linux", "/x", []string{"/x/Signal", "/h/snap/signal-desktop/current/.config/Signal", "/h/.var/app/org.signal.Signal/config/Signal"}},
		{"Windows", "windows", "", []string{"/a/Signal"}},
		{"macOS", "darwin", "", []string{"/h/Library/Application Support/Signal"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env["XDG_CONFIG_HOME"] = tt.xdg
			got := places(tt.os, func(name string) string { return env[name] })
			for i := range got {
				got[i] = filepath.ToSlash(got[i])
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFolderIsTheOneThatWasWrittenLast(t *testing.T) {
	root := t.TempDir()
	empty, old, new, live := filepath.Join(root, "empty"), filepath.Join(root, "old"), filepath.Join(root, "new"), filepath.Join(root, "live")
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	for path, at := range map[string]time.Time{
		database(t, old):                         day(2),
		database(t, new):                         day(3),
		database(t, live, "-wal"):                day(1),
		filepath.Join(live, "sql/db.sqlite-wal"): day(4), // by Signal, which runs
	} {
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name    string
		folders []string
		want    string
	}{
		{"the one that is there", []string{empty, old}, old},
		{"the newer one, first", []string{new, old}, new},
		{"the newer one, last", []string{old, empty, new}, new},
		{"the one with the newest log", []string{old, live, new}, live},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := newest(tt.folders); got != tt.want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestFolderSaysWhereItLooked(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := newest([]string{filepath.Join(root, "one"), file})
	for _, want := range []string{filepath.Join(root, "one"), file, "SIGNAL_MCP_DB"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if _, err := Folder(noEnv); err == nil || !strings.Contains(err.Error(), "home") {
		t.Errorf("got %v, want that there is no home", err)
	}
}
