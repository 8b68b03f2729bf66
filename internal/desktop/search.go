package desktop

import (
	"context"
	"errors"
	"math"
	"unicode/utf8"

	"aldis/internal/hub"
)

const maxNeedle = 1024 // bytes

// Bounds of the two ways to search.
const (
	// patience is after how many texts a walk that has not filled its page gives
	// way to a scan: a walk takes some 1 µs for a text, and a scan of 500,000 some
	// 0.1 s.
	patience = 4_000
	// chatPatience is the same for one conversation, most of whose texts are each
	// on another page, which is to be decrypted: that takes ten times as long.
	chatPatience = 400
	// maxHits is how many rows a scan may find. What is found more often fills a
	// page soon by walking on, unless the bounds of the query are far from where it
	// begins.
	maxHits = 1 << 14
)

// Search returns messages that hold a text: in their body, or in the question of
// a poll. Mentions are not names there. Stories, answers to them, what may be
// seen once and what has been deleted are never found. It fails with Invalid for
// a text that is empty, longer than 1,024 bytes or not UTF-8, or a cursor of
// another query, and with NotFound if there is no such conversation.
func (r *Reader) Search(ctx context.Context, q SearchQuery) (Messages, error) {
	if q.Text == "" || len(q.Text) > maxNeedle || !utf8.ValidString(q.Text) {
		return Messages{}, hub.Errorf(hub.Invalid, "the text to search for has 1 to %d bytes of UTF-8", maxNeedle)
	}
	s := scope{Tool: "search", Conversation: q.Conversation, Text: q.Text, Exact: q.Exact}
	from, err := r.start(s, q.Window)
	if err != nil {
		return Messages{}, err
	}
	limit := capped(q.Limit, r.limits.messages)
	needle := newNeedle(q.Text, q.Exact)
	return read(ctx, r, func(ctx context.Context, v *view) (Messages, error) {
		if q.Conversation != "" {
			if err := v.mustKnow(ctx, q.Conversation); err != nil {
				return Messages{}, err
			}
		}
		f := &search{view: v, needle: needle, query: q, patience: patience, maxHits: maxHits, at: from, want: limit + 1}
		if f.only() != "" {
			f.patience = chatPatience
		}
		if err := f.run(ctx); err != nil {
			return Messages{}, err
		}
		return v.page(ctx, s, q.Window, f.rows, limit)
	})
}

// A search collects the messages that hold a text, in the order of places.
type search struct {
	*view
	needle *needle
	query  SearchQuery
	index  *textIndex // nil: texts are read from the messages themselves

	patience, maxHits int // as the constants

	at     *place // up to which texts have been looked at
	looked int    // how many texts that were
	rows   []row  // that have been found
	want   int
}

// run walks over the texts in order, which for a common text is over at once.
// For a rare one it soon scans all of them with all processors, and walks on
// only if that finds too many.
func (s *search) run(ctx context.Context) (err error) {
	if s.index, err = s.textIndex(ctx); err != nil {
		return err
	}
	most := s.patience
	if s.index == nil {
		most = math.MaxInt
	}
	all, err := s.walk(ctx, most)
	if err != nil || all || len(s.rows) == s.want {
		return err
	}
	found, err := s.scan(ctx)
	if errors.Is(err, errCommon) {
		_, err = s.walk(ctx, math.MaxInt)
		return err
	}
	if err != nil {
		return err
	}
	rest, err := s.hits(ctx, found, s.at)
	s.rows = append(s.rows, rest...)
	return err
}

// walk looks at texts until the page is full, or so many have been looked at in
// all. It reports whether there are no more.
func (s *search) walk(ctx context.Context, most int) (all bool, err error) {
	for batch := s.want; len(s.rows) < s.want && s.looked < most; batch = min(2*batch, maxHits) { // few of them may be seen
		found, all, err := s.step(ctx, batch, most)
		if err != nil {
			return false, err
		}
		rows, err := s.hits(ctx, found, nil)
		s.rows = append(s.rows, rows...)
		if err != nil || all {
			return true, err
		}
	}
	return false, nil
}
