package signaldesktop

import (
	"encoding/json"
	"time"
)

// A Query is a statement of SQL that returns rows, with arguments as Exec takes.
type Query struct {
	SQL  string
	Args []any
}

// Time returns how long the library takes for queries on the database of dir,
// one after the other, until their rows are objects of JavaScript and what their
// column json holds is one too. It reads as another program beside the Writer,
// with a connection of its own that lasts; it prepares a query once, which is not
// counted, nor is the way from here to there.
func (w *Writer) Time(dir string, queries ...Query) time.Duration {
	w.t.Helper()
	c := command{Do: "time", Path: Path(dir), Key: Key}
	for _, q := range queries {
		c.Queries = append(c.Queries, command{SQL: q.SQL, Args: w.encoded(q.Args)})
	}
	return w.duration(c)
}

// TimeOpen returns how long the library takes to open the database of dir and to
// read its schema.
func (w *Writer) TimeOpen(dir string) time.Duration {
	w.t.Helper()
	return w.duration(command{Do: "timeOpen", Path: Path(dir), Key: Key})
}

func (w *Writer) duration(c command) (d time.Duration) {
	w.t.Helper()
	if err := json.Unmarshal(w.ask(c), &d); err != nil {
		w.t.Fatal(err)
	}
	return d
}
