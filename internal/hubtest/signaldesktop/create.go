package signaldesktop

import (
	"os"
	"path/filepath"
)

// Options are what a database is made with.
type Options struct {
	Schema   int    // user_version: 1330, 1460, 1830, or 9999, which is yet to come, or 50, of before 2023
	Key      string // 64 hexadecimal digits; empty: the usual Key
	Content  bool   // put in the people and messages that the constants of this package name
	Messages int    // put in so many older messages, of words picked at random, always the same
}

// What Options.Messages has besides words at random.
const (
	RareNeedle   = "xylophone quartet" // is in the eighth and then in every 50,000th message
	CommonNeedle = "lantern"           // is in every third
)

// Path is where the database of a folder of Signal Desktop is.
func Path(dir string) string { return filepath.Join(dir, "sql", "db.sqlite") }

// Create makes dir a folder of Signal Desktop, with a config.json that has the
// key, and leaves the database open.
func (w *Writer) Create(dir string, o Options) {
	w.t.Helper()
	if o.Key == "" {
		o.Key = Key
	}
	w.ask(command{Do: "create", Path: Path(dir), Key: o.Key, Version: o.Schema})
	config := []byte(`{"key":"` + o.Key + `"}`)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o600); err != nil {
		w.t.Fatal(err)
	}
	if o.Messages > 0 {
		w.ask(command{
			Do: "messages", Version: o.Schema, Count: o.Messages, Time: firstTime, Counter: firstCounter,
			Rare: RareNeedle, Common: CommonNeedle,
		})
	}
	if o.Content {
		w.fill(o.Schema)
	}
}
