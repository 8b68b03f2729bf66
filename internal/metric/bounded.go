package metric

import "sync"

// A bounded is the words that a label may be: the first so many that came.
type bounded struct {
	max int

	mu    sync.Mutex
	words map[string]bool
}

func newBounded(max int) *bounded { return &bounded{max: max, words: make(map[string]bool)} }

// add makes word one of them, while there is room. The empty word is none.
func (b *bounded) add(word string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if word != "" && len(b.words) < b.max {
		b.words[word] = true
	}
}

// label returns word, or other, if it is none of them.
func (b *bounded) label(word string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.words[word] {
		return word
	}
	return other
}
