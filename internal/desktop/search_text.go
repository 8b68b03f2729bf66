package desktop

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"sync"
)

// A textIndex is where Signal keeps the texts that its own search knows: the
// table of an FTS5 index that holds what was put in. It is a tenth of the size of
// the messages, and reading it needs none of Signal's program.
type textIndex struct {
	root   uint32 // its first page
	column int    // of the text in its records
}

// textIndex looks for the index. There is none in a database without it, or with
// one that is other than it is known to be, and while Signal takes in a backup it
// does not keep it up.
func (v *view) textIndex(ctx context.Context) (*textIndex, error) {
	index, ok, err := one(ctx, v.db, func(rows *sql.Rows) (i textIndex, err error) {
		err = rows.Scan(&i.root, &i.column)
		return i, err
	}, `SELECT t.rootpage, c.cid FROM sqlite_schema t
		JOIN pragma_table_info(t.name) id ON id.name = 'id' AND id.type = 'INTEGER' AND id.pk = 1
		JOIN pragma_table_info(t.name) c ON c.name = 'c0'
		WHERE t.type = 'table' AND t.name = 'messages_fts_content' AND NOT EXISTS (SELECT 1 FROM items
			WHERE id = 'messageInsertTriggersDisabled' AND CASE WHEN json_valid(json) THEN json ->> '$.value' END)`)
	if !ok || err != nil {
		return nil, err
	}
	return &index, nil
}

// texts is the query for the texts of messages in the order of places. It reads
// no row of a message, unless texts are read from there.
func (s *search) texts(part clause) (query string, args []any) {
	from := "messages m" + s.schema.hint(inAll)
	if conversation := s.only(); conversation != "" {
		from = s.inConversation()
		part.add("m.conversationId = ? AND m.isStory = 0", conversation) // more than that is not in the index
	}
	text := "m.body"
	switch {
	case s.index != nil:
		text = "c.c0"
		from += " CROSS JOIN messages_fts_content c ON c.id = m.rowid"
	case s.schema.has("messages", "searchableText"):
		text = "m.searchableText" // the question of a poll, or the body
	}
	return "SELECT m.received_at, " + sent + ", m.rowid, " + text + " FROM " + from + " WHERE " + part.String() + inOrder(s.query.Newer), part.args
}

// only is the one conversation that hits can be of; empty: there are more.
func (s *search) only() string {
	if granted := s.reader.grants.Conversations; s.query.Conversation == "" && len(granted) == 1 {
		return granted[0]
	}
	return s.query.Conversation
}

// step looks at the next texts, until so many hold the needle, or so many have
// been looked at in all. It reports whether there are no more.
func (s *search) step(ctx context.Context, batch, most int) (found []int64, all bool, err error) {
	var at place
	var text sql.RawBytes
	more := true
	look := func(rows *sql.Rows) (bool, error) {
		if err := rows.Scan(&at.received, &at.sent, &at.row, &text); err != nil {
			return false, err
		}
		s.looked++
		if s.needle.in(text) {
			found = append(found, at.row)
		}
		more = len(found) < batch && s.looked < most
		return more, nil
	}
	before := s.looked
	for _, part := range parts(s.query.Newer, s.at) {
		query, args := s.texts(part)
		if err = each(ctx, s.db, look, query, args...); err != nil || !more {
			break
		}
	}
	if s.looked > before {
		s.at = &at
	}
	return found, more, err
}

var errCommon = errors.New("more messages hold the text than a scan is for")

// scan finds the texts that hold the needle, in no order. Of conversations that
// are named it reads theirs alone: how often others hold the needle makes no
// difference to it.
func (s *search) scan(ctx context.Context) (found []int64, err error) {
	rows, err := s.candidates(ctx)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	err = scanText(ctx, s.snap, s.index.root, s.index.column, rows, s.needle.in, func(rowid int64, _ []byte) error {
		mu.Lock()
		defer mu.Unlock()
		if found = append(found, rowid); len(found) > s.maxHits {
			return errCommon
		}
		return nil
	})
	return found, err
}

// candidates are the rows of the conversations that hits can be of, in the order
// of rows; nil: of all.
func (s *search) candidates(ctx context.Context) (rows []int64, err error) {
	conversations := s.reader.grants.Conversations
	if only := s.only(); only != "" {
		conversations = []string{only}
	}
	if len(conversations) == 0 {
		return nil, nil
	}
	c := in("m.conversationId", conversations)
	c.add("m.isStory = 0")
	list, _, err := one(ctx, s.db, value[[]byte], "SELECT json_group_array(m.rowid) FROM "+s.inConversation()+" WHERE "+c.String(), c.args...) // a row of each would take five times as long
	if err == nil {
		err = json.Unmarshal(list, &rows)
	}
	slices.Sort(rows)
	return rows, err
}

// unspoilt is the condition that a message has its content still, and shows it
// more than once. The index has no texts of others, but that is Signal's doing.
const unspoilt = `m.isErased IS NOT TRUE AND m.isViewOnce IS NOT TRUE AND CASE WHEN json_valid(m.json) THEN
	m.json ->> '$.isErased' IS NOT TRUE AND m.json ->> '$.isViewOnce' IS NOT TRUE AND m.json ->> '$.deletedForEveryone' IS NOT TRUE
	ELSE TRUE END`

// hits returns the messages of rows that may be found, in the order of places,
// past from if it is not nil, and no more than the page still wants.
func (s *search) hits(ctx context.Context, rowids []int64, from *place) ([]row, error) {
	if len(rowids) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(rowids)
	if err != nil {
		return nil, err
	}
	c := s.within(s.query.Conversation, s.query.Window)
	c.add(unspoilt)
	c.add("m.rowid IN (SELECT value FROM json_each(?))", string(list))
	return s.view.walk(ctx, "messages m NOT INDEXED", c, s.query.Newer, from, s.want-len(s.rows)) // by rowid, not along an index
}
