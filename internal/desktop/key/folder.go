package key

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Folder returns where Signal Desktop keeps its data here: of the usual places
// (on Linux also those of the snap and the Flatpak) the one that has a database,
// sql/db.sqlite; of several, the one whose database was written last. The error
// lists where it looked.
//
// It needs HOME and XDG_CONFIG_HOME from getenv, and on Windows APPDATA.
func Folder(getenv func(name string) string) (string, error) {
	return newest(places(runtime.GOOS, getenv))
}

// places lists where Signal keeps its data on a system.
func places(system string, getenv func(string) string) []string {
	home := getenv("HOME")
	switch system {
	case "windows":
		return under(getenv("APPDATA"), "Signal")
	case "darwin":
		return under(home, "Library/Application Support/Signal")
	}
	usual := under(getenv("XDG_CONFIG_HOME"), "Signal")
	if usual == nil {
		usual = under(home, ".config/Signal")
	}
	return append(usual, under(home,
		"snap/signal-desktop/current/.config/Signal",
		".var/app/org.signal.Signal/config/Signal")...)
}

// under returns paths below a folder, or none where the folder is unknown.
func under(folder string, paths ...string) (joined []string) {
	if folder == "" {
		return nil
	}
	for _, p := range paths {
		joined = append(joined, filepath.Join(folder, filepath.FromSlash(p)))
	}
	return joined
}

func newest(folders []string) (found string, err error) {
	var last time.Time
	looked := make([]string, len(folders))
	for i, folder := range folders {
		at, err := written(filepath.Join(folder, "sql", "db.sqlite"))
		switch {
		case err == nil && (found == "" || at.After(last)):
			found, last = folder, at
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			looked[i] = err.Error() // says where, and why not
			continue
		}
		looked[i] = folder
	}
	if found == "" {
		return "", fmt.Errorf("no database of Signal Desktop here; looked in: %s; set SIGNAL_MCP_DB and SIGNAL_MCP_CONFIG to where they are",
			cmp.Or(strings.Join(looked, ", "), "nowhere, since the environment has no home folder"))
	}
	return found, nil
}

// written returns when a database was last written to. While Signal runs, that
// shows on the write-ahead log alone.
func written(db string) (time.Time, error) {
	info, err := os.Stat(db)
	if err != nil {
		return time.Time{}, err
	}
	at := info.ModTime()
	if wal, err := os.Stat(db + "-wal"); err == nil && wal.ModTime().After(at) {
		at = wal.ModTime()
	}
	return at, nil
}
