package signaldesktop

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Times of the messages, Unix milliseconds, and the counter that orders them.
const (
	firstTime    int64 = 1_700_000_000_000 // when the first came
	apart        int64 = 60_000            // from one to the next
	late         int64 = 1_500             // from when it was sent to when it came
	firstCounter int64 = 1_650_000_000_000 // when Signal was set up: it counts on from there, one a message
)

// ReceivedAt is when a message of Options.Content came, in Unix milliseconds.
// The column received_at has something else: a counter.
func ReceivedAt(id string) int64 { return firstTime + place(id)*apart }

// SentAt is when a message of Options.Content was sent, in Unix milliseconds,
// by the clock of its sender.
func SentAt(id string) int64 { return ReceivedAt(id) - late }

// place is how many messages came before, or for those that came together,
// before the first of them.
func place(id string) int64 {
	i := slices.IndexFunc(contents, func(m message) bool { return m.id == id })
	if i < 0 {
		panic("signaldesktop: there is no message " + id)
	}
	for contents[i].tied {
		i--
	}
	return int64(i)
}

// fill puts in people and messages.
func (w *Writer) fill(schema int) {
	w.t.Helper()
	w.Exec("BEGIN")
	for i, c := range conversations {
		w.insert("conversations", c.row(schema, i))
	}
	for _, m := range contents {
		w.insert("messages", m.row(schema))
		w.related(schema, m)
	}
	w.Exec("COMMIT")
}

// row is the message's, as Signal of a schema writes it.
func (m message) row(schema int) fields {
	columns := fields{
		"id": m.id, "conversationId": m.chat, "type": "incoming", "body": nullable(m.body), "isErased": 0, "isViewOnce": 0,
		"sent_at": SentAt(m.id), "received_at": firstCounter + place(m.id), "readStatus": 0,
	}
	json := fields{"schemaVersion": 14}
	if m.from == "" {
		columns["type"] = "outgoing"
		json["sendStateByConversationId"] = fields{m.chat: fields{"status": "Read"}}
	} else {
		columns[named(schema, "sourceServiceId", "sourceUuid")] = m.from
	}
	noted := fields{"timestamp": SentAt(m.id), "received_at_ms": ReceivedAt(m.id), "serverTimestamp": SentAt(m.id) + 1}
	maps.Copy(columns, m.columns)
	if schema >= 1270 {
		maps.Copy(columns, noted)
	} else { // json says all, and some alone
		maps.Copy(json, columns)
		delete(columns, "source")
		maps.Copy(json, noted)
	}
	maps.Copy(json, m.json)
	if m.quotes != "" {
		quote := maps.Clone(m.json["quote"].(fields))
		quote["id"] = SentAt(m.quotes) // which is how Signal names it
		json["quote"] = quote
	}
	if schema < 1360 {
		m.legacy(json)
	}
	columns["json"] = json
	return columns
}

// legacy puts the files into json, where they were before they had a table.
func (m message) legacy(json fields) {
	for _, f := range m.files {
		switch {
		case f.edit > 0: // the history of edits has them
		case f.kind == "attachment":
			list, _ := json["attachments"].([]fields)
			json["attachments"] = append(list, f.columns)
		case f.kind == "long-message":
			json["bodyAttachment"] = f.columns
		}
	}
}

// related puts in what other tables have of a message.
func (w *Writer) related(schema int, m message) {
	w.t.Helper()
	reactions, _ := m.json["reactions"].([]fields)
	for _, r := range reactions {
		w.insert("reactions", fields{"messageId": m.id, "conversationId": m.chat, "emoji": r["emoji"], "fromId": r["fromId"], "timestamp": r["timestamp"]})
	}
	if schema < 1360 {
		return
	}
	for i, f := range m.files {
		row := fields{
			"messageId": m.id, "conversationId": m.chat, "editHistoryIndex": f.edit - 1, "attachmentType": f.kind,
			"orderInMessage": i, "sentAt": SentAt(m.id), "localKey": Secret,
		}
		maps.Copy(row, f.columns)
		w.insert("message_attachments", row)
	}
}

// insert puts in a row, in which a map is JSON.
func (w *Writer) insert(table string, row fields) {
	w.t.Helper()
	names := slices.Sorted(maps.Keys(row))
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = row[name]
		if object, ok := args[i].(fields); ok {
			b, err := json.Marshal(object)
			if err != nil {
				w.t.Fatal(err)
			}
			args[i] = string(b)
		}
	}
	w.Exec(fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)", table, strings.Join(names, ", "), strings.Repeat(", ?", len(names)-1)), args...)
}
