package desktop

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hubtest/signaldesktop"
)

// file puts in a row of the table of attachments, with something in each column
// that must have it.
func (d desktop) file(message, kind string, order int, row columns) {
	full := columns{}
	for _, col := range d.Rows(`SELECT name, type FROM pragma_table_info('message_attachments') WHERE "notnull"`) {
		full[col[0].(string)] = map[any]any{"TEXT": "", "INTEGER": 0, "REAL": 0, "BLOB": ""}[col[1]]
	}
	full["messageId"], full["attachmentType"], full["orderInMessage"], full["editHistoryIndex"] = message, kind, order, -1
	for name, val := range row {
		full[name] = val
	}
	d.put("message_attachments", full)
}

func TestFilesOfTheTable(t *testing.T) {
	for _, schema := range schemas[1:] {
		d := newDesktop(t, signaldesktop.Options{Schema: schema})
		d.people()
		message := func(id string, row columns) {
			full := columns{"id": id, "conversationId": "c-ada", "type": "incoming", "sent_at": 1, "received_at": 1, "json": columns{}}
			for name, val := range row {
				full[name] = val
			}
			d.put("messages", full)
		}
		message("files", columns{"hasAttachments": 1, "json": columns{"attachments": []columns{{"contentType": "stale/one"}}}})
		d.file("files", "attachment", 1, columns{"contentType": "audio/aac", "size": 9, "flags": 1})
		d.file("files", "attachment", 0, columns{
			"contentType": "image/png", "size": 7, "path": "aa/b", "fileName": "a.png", "caption": "sea", "width": 3, "height": 4,
		})
		d.file("files", "attachment", 2, columns{"contentType": "edited/away", "editHistoryIndex": 0})
		d.file("files", "preview", 0, columns{"contentType": "image/jpeg"})
		d.file("files", "quote", 0, columns{"contentType": "image/jpeg"})

		message("a long text", columns{"body": "head"})
		d.file("a long text", "long-message", 0, columns{"contentType": longText})
		message("a long text that is here", columns{"body": "all"})
		d.file("a long text that is here", "long-message", 0, columns{"contentType": longText, "path": "x"})
		message("once", columns{"isViewOnce": 1})
		d.file("once", "attachment", 0, columns{"contentType": "image/png", "fileName": "secret"})

		r := d.reader(t, Grants{})
		for id, want := range map[string]string{
			"files": `"attachments":[{"contentType":"image/png","fileName":"a.png","caption":"sea","size":7,"width":3,"height":4,"isDownloaded":true},` +
				`{"contentType":"audio/aac","size":9,"isVoiceMessage":true}]`,
			"a long text":              `"body":"head","bodyNotDownloaded":true`,
			"a long text that is here": `"body":"all"`,
			"once":                     `"isViewOnce":true,"attachments":[{"isViewOnce":true}]`,
		} {
			m, err := r.Message(t.Context(), id)
			m.ID, m.ConversationID, m.Direction, m.SentAt, m.ReceivedAt, m.Sender = "", "", "", 0, 0, nil
			got, _ := Encode(m)
			if diff := cmp.Diff(`{"id":"","direction":"","sentAt":0,`+want+`}`, string(got)); diff != "" || err != nil {
				t.Errorf("schema %d, %s: %v\n%s", schema, id, err, diff)
			}
		}
	}
}
