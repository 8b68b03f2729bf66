package signaldesktop

import (
	"os"
	"path/filepath"
)

// Options are what a database is made with.
type Options struct {
	Schema   int  // user_version: 1330, 1460, 1830, or 9999, which is yet to come, or 50, of before 2023
	Content  bool // put in the people and messages that the constants of this package name
	Messages int  // put in so many older messages, of words picked at random, always the same
}

// What Options.Messages has besides words at random.
const (
	RareNeedle   = "xylophone quartet" // is in the eighth and then in every 50,000th message
	CommonNeedle = "lantern"           // is in every third
)

// Path is where the database of a folder of Signal Desktop is.
func Path(dir string) string { return filepath.Join(dir, "sql", "db.sqlite") }

// Create makes dir a folder of Signal Desktop whose account is Self, with a
// config.json that has the Key, and leaves the database open.
func (w *Writer) Create(dir string, o Options) {
	w.t.Helper()
	w.ask(command{Do: "create", Path: Path(dir), Key: Key, Version: o.Schema})
	config := []byte(`{"key":"` + Key + `"}`)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.insert("items", fields{"id": "uuid_id", "json": fields{"id": "uuid_id", "value": Self + ".2"}})
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
