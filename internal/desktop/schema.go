package desktop

import (
	"context"
	"database/sql"

	"aldis/internal/hub"
)

// oldest is the first user_version that is understood (2023): before it, people
// are named otherwise. Newer ones are never refused, for what is needed is
// looked for by name.
const oldest = 88

// What every version has that is understood.
var needed = []column{
	{"conversations", "id"},
	{"conversations", "json"},
	{"conversations", "type"},
	{"conversations", "active_at"},
	{"conversations", "serviceId"},
	{"messages", "id"},
	{"messages", "json"},
	{"messages", "type"},
	{"messages", "body"},
	{"messages", "conversationId"},
	{"messages", "sourceServiceId"},
	{"messages", "sent_at"},
	{"messages", "received_at"},
	{"messages", "isErased"},
	{"messages", "isViewOnce"},
	{"messages", "isStory"},
	{"messages", "storyId"},
	{"messages", "hasAttachments"},
	{"messages", "hasFileAttachments"},
	{"messages", "hasVisualMediaAttachments"},
	{"items", "id"},
	{"items", "json"},
}

// Indexes of messages that give them in order, each without reading a row.
const (
	inConversation = "messages_conversation_no_story_id" // of one conversation
	inAll          = "messages_searchOrder"
)

// A schema is which tables, columns and indexes a database has.
type schema struct {
	cookie  int64 // SQLite's count of changes to the schema
	version int   // user_version
	columns map[column]bool
	hints   map[string]string // for each index of messages that is there: the words that have SQLite use it
}

type column struct{ table, name string }

func (s *schema) has(table, name string) bool { return s.columns[column{table, name}] }

func (s *schema) hasTable(table string) bool { return s.has(table, "") }

// hint is the words after "messages m" that have SQLite use an index, or none if
// it is not there: statistics in the database could make SQLite sort instead.
func (s *schema) hint(index string) string { return s.hints[index] }

// readSchema returns known if that is the database's schema still. It fails
// with Unavailable if there is no answering questions with it.
func readSchema(ctx context.Context, q querier, known *schema) (*schema, error) {
	cookie, _, err := one(ctx, q, value[int64], "PRAGMA schema_version")
	if err != nil || known != nil && known.cookie == cookie {
		return known, err
	}
	s := &schema{cookie: cookie, columns: map[column]bool{}, hints: map[string]string{}}
	if s.version, _, err = one(ctx, q, value[int], "PRAGMA user_version"); err != nil {
		return nil, err
	}
	if s.version < oldest {
		return nil, hub.Errorf(hub.Unavailable, "the database has schema %d, of a Signal Desktop of before 2023; "+
			"%d is the oldest that is understood: start a current Signal Desktop once, which renews it", s.version, oldest)
	}
	if err := s.read(ctx, q); err != nil {
		return nil, err
	}
	for _, c := range needed {
		if !s.columns[c] {
			return nil, hub.Errorf(hub.Unavailable, "the database has schema %d, which has no column %s.%s: "+
				"this version of Signal Desktop is not understood", s.version, c.table, c.name)
		}
	}
	s.try(ctx, q, inConversation, "conversationId = '' AND isStory = 0")
	s.try(ctx, q, inAll, "TRUE")
	return s, nil
}

// try has SQLite plan a query that is to use an index, which it refuses if there
// is none of that name, or one for other rows.
func (s *schema) try(ctx context.Context, q querier, index, where string) {
	hint := " INDEXED BY " + index
	nothing := func(*sql.Rows) (bool, error) { return false, nil }
	if err := each(ctx, q, nothing, "EXPLAIN SELECT 1 FROM messages m"+hint+" WHERE "+where); err == nil {
		s.hints[index] = hint
	}
}

// read lists the columns, generated ones too.
func (s *schema) read(ctx context.Context, q querier) error {
	_, err := all(ctx, q, func(rows *sql.Rows) (c column, err error) {
		err = rows.Scan(&c.table, &c.name)
		s.columns[c], s.columns[column{table: c.table}] = true, true
		return c, err
	}, `SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_xinfo(t.name) c
		WHERE t.type = 'table' AND t.name IN ('messages', 'conversations', 'items', 'message_attachments', 'messages_fts_content')`)
	return err
}
