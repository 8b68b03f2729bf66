package store

import (
	"context"
	"database/sql"
	"strings"
	"time"
	"unicode"

	"aldis/internal/hub"
)

// The words of messages are put into the index after them, so that nobody waits
// for that: in small transactions of their own.
const (
	searchDelay = 200 * time.Millisecond // after a message
	searchStep  = 500                    // messages in one transaction
	searchShare = 4                      // of its time the writer spends a fifth on that, while others wait
	searchAgain = time.Minute            // after a fault
	searchWords = 32                     // that may be asked for
)

// indexDue returns a channel that says when there is something to index; nil:
// nothing is. step is how long the last step took, if there was one just now.
func (tx *txn) indexDue(step time.Duration) <-chan time.Time {
	switch {
	case tx.searched >= tx.newest:
		return nil
	case step == 0:
		return time.After(searchDelay)
	case len(tx.s.ops) == 0:
		return time.After(0)
	default:
		return time.After(searchShare * step)
	}
}

// indexStep puts the next messages into the index, and returns when to go on.
func (tx *txn) indexStep() <-chan time.Time {
	begun := time.Now()
	if _, err := tx.try([]op{&job[int]{fn: (*txn).index}}); err != nil {
		tx.s.opts.Log.Error("index the record for searches", "path", tx.s.opts.Path, "err", err)
		return time.After(searchAgain)
	}
	return tx.indexDue(max(time.Since(begun), 1))
}

// index puts the next messages into the index, as they will be kept: a message
// is still whole when its words are read. It returns how many there were.
func (tx *txn) index() (int, error) {
	type words struct {
		seq            int64
		platform, text string
	}
	rows, err := all(context.Background(), tx, func(rows *sql.Rows) (w words, err error) {
		err = rows.Scan(&w.seq, &w.platform, &w.text)
		return w, err
	}, "SELECT seq, platform, COALESCE(body ->> '$.text', '') FROM record WHERE seq > $1 ORDER BY seq LIMIT $2", tx.searched, searchStep)
	for _, w := range rows {
		if err != nil {
			break
		}
		m := hub.Message{Ref: hub.Ref{Platform: hub.PlatformID(w.platform)}, Text: w.text}
		if tx.s.opts.Keep != KeepFull {
			m = preview(m)
		}
		tx.searched = w.seq
		_, err = tx.exec("INSERT INTO search (rowid, text) VALUES ($1, $2)", w.seq, m.Text)
	}
	if err != nil {
		return 0, err
	}
	if len(rows) < searchStep {
		tx.searched = max(tx.searched, tx.newest) // places that were given out in vain
	}
	_, err = tx.exec("UPDATE counter SET searched = $1", tx.searched)
	return len(rows), err
}

// match makes what a person types a query of FTS5: each word a phrase, so that
// nothing in it has a meaning there, and the last one may go on. It is empty
// where there is nothing to find: no letter and no digit. It fails with Invalid
// if there are too many words. https://www.sqlite.org/fts5.html#full_text_query_syntax
func match(text string) (string, error) {
	var words []string
	parts := 0 // FTS5 takes a word to pieces, and looks for each
	for word := range strings.FieldsFuncSeq(strings.ToValidUTF8(text, " "), blank) {
		if n := len(strings.FieldsFunc(word, betweenWords)); n > 0 {
			parts += n
			words = append(words, `"`+strings.ReplaceAll(word, `"`, `""`)+`"`)
		}
	}
	if parts > searchWords {
		return "", hub.Errorf(hub.Invalid, "search for at most %d words", searchWords)
	}
	if len(words) == 0 {
		return "", nil
	}
	return strings.Join(words, " ") + "*", nil
}

func blank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

func betweenWords(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }
