package desktop

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hubtest/signaldesktop"
)

// kinds are messages as Signal keeps them, and as hosts are shown them.
var kinds = []struct {
	what string
	row  columns // besides id, conversation, times, and who sent it
	want string  // besides the same
}{
	{"a text", columns{"body": "hello <b>&"}, `"body":"hello <b>&"`},
	{"a column beside json that is stale", columns{"body": "new", "json": columns{"body": "old"}}, `"body":"new"`},
	{"bytes that are no text", columns{"body": "a\x00b"}, `"body":"a\u0000b"`},
	{
		"a mention", columns{"body": "hi \uFFFC", "json": columns{"bodyRanges": []columns{
			{"start": 3, "length": 1, "mentionAci": "ada"}, {"start": 0, "length": 4, "style": 1},
		}}}, `"body":"hi @Ada Lovelace"`,
	},
	{
		"a mention of one who has a number for a name", columns{"body": "\uFFFC", "json": columns{"bodyRanges": []columns{
			{"start": 0, "length": 1, "mentionAci": "bob"},
		}}}, `"body":"@bob.01"`,
	},
	{
		"a mention of a stranger", columns{"body": "\uFFFC", "json": columns{"bodyRanges": []columns{
			{"start": 0, "length": 1, "mentionUuid": "who"},
		}}}, `"body":"@Unknown contact"`,
	},
	{
		"what may be seen once", columns{"isViewOnce": true, "hasAttachments": 1, "body": "secret", "json": columns{
			"attachments": []columns{{"contentType": "image/png", "fileName": "secret"}}, "quote": columns{"id": 5, "text": "secret"},
		}}, `"isViewOnce":true,"attachments":[{"isViewOnce":true}]`,
	},
	{"what was seen once", columns{"isViewOnce": true, "isErased": 1, "json": columns{}}, `"isViewOnce":true,"isErased":true`},
	{"what has been erased", columns{"isErased": 1, "body": "rest", "hasAttachments": 1}, `"isErased":true`},
	{
		"what has been deleted for everybody",
		columns{"isErased": 1, "json": columns{"deletedForEveryone": true, "reactions": []columns{}}},
		`"isDeleted":true`,
	},
	{"an edit", columns{"body": "better", "json": columns{"editMessageTimestamp": 77, "editHistory": []columns{{}, {}}}}, `"body":"better","editedAt":77`},
	{
		"an answer",
		columns{"body": "yes", "json": columns{"quote": columns{
			"id": 1500, "authorAci": "ada", "text": "well, \uFFFC?", "bodyRanges": []columns{{"start": 6, "length": 1, "mentionAci": "self"}},
			"attachments": []columns{{"contentType": "image/png", "fileName": "a.png", "thumbnail": columns{"path": "x"}}},
		}}},
		`"body":"yes","quote":{"sentAt":1500,"author":{"serviceId":"ada","name":"Ada Lovelace"},"text":"well, @Me?",` +
			`"attachments":[{"contentType":"image/png","fileName":"a.png"}]}`,
	},
	{
		"an answer to what is not here",
		columns{"json": columns{"quote": columns{"id": 9, "authorUuid": "x", "text": "t", "referencedMessageNotFound": true}}},
		`"quote":{"sentAt":9,"author":{"serviceId":"x"},"text":"t","isNotFound":true}`,
	},
	{
		"an answer to what may be seen once",
		columns{"json": columns{"quote": columns{"id": 9, "text": "secret", "isViewOnce": true}}},
		`"quote":{"sentAt":9,"isViewOnce":true}`,
	},
	{
		"reactions, one taken back",
		columns{"body": "x", "json": columns{"reactions": []columns{
			{"emoji": "👍", "fromId": "c-ada", "timestamp": 8}, {"fromId": "c-self", "timestamp": 9}, {"emoji": "🎉", "fromId": "+49170"},
		}}},
		`"body":"x","reactions":[{"emoji":"👍","from":{"serviceId":"ada","name":"Ada Lovelace"},"at":8},{"emoji":"🎉"}]`,
	},
	{
		"a sticker",
		columns{"json": columns{"sticker": columns{"packId": "p", "packKey": "SECRET", "stickerId": 3, "emoji": "😀"}}},
		`"sticker":{"emoji":"😀"}`,
	},
	{
		"a poll",
		columns{"body": "", "json": columns{"poll": columns{"question": "When?", "options": []string{"now", "later"}, "votes": []columns{{"x": 1}}}}},
		`"poll":{"question":"When?","options":["now","later"]}`,
	},
	{
		"a link",
		columns{"body": "see", "json": columns{"preview": []columns{{"url": "https://example.org", "title": "T", "image": columns{"path": "x"}}}}},
		`"body":"see","linkPreviews":[{"url":"https://example.org","title":"T"}]`,
	},
	{
		"contacts", columns{"json": columns{"contact": []columns{
			{"name": columns{"givenName": "Eve", "familyName": "X"}, "number": []columns{{"value": "+491"}}}, {"organization": "Acme"},
		}}}, `"sharedContacts":["Eve X","Acme"]`,
	},
	{
		"files in json",
		columns{"hasAttachments": 1, "json": columns{"attachments": []columns{
			{"contentType": "audio/aac", "size": 12, "flags": 1, "duration": 2.5, "path": "aa/b", "localKey": "SECRET"},
			{"contentType": "image/jpeg", "fileName": "p.jpg", "caption": "sea", "width": 3, "height": 4},
		}}},
		`"attachments":[{"contentType":"audio/aac","size":12,"duration":2.5,"isVoiceMessage":true,"isDownloaded":true},` +
			`{"contentType":"image/jpeg","fileName":"p.jpg","caption":"sea","width":3,"height":4}]`,
	},
	{"a file that nothing is known of", columns{"hasFileAttachments": 1}, `"attachments":[{"isUnknown":true}]`},
	{
		"a long text that is not here",
		columns{"body": "head", "json": columns{"bodyAttachment": columns{"contentType": longText}}},
		`"body":"head","bodyNotDownloaded":true`,
	},
	{"a flag that is a number", columns{"body": "secret", "json": columns{"isViewOnce": 1}}, `"isViewOnce":true,"attachments":[{"isViewOnce":true}]`},
	{"a flag that is a word", columns{"body": "secret", "json": columns{"deletedForEveryone": "yes", "isErased": false}}, `"isDeleted":true`},
	{"json that is none", columns{"body": "x", "json": "{"}, `"body":"x"`},
	{"json of other types", columns{"body": "x", "json": columns{"quote": "q", "reactions": columns{}, "bodyRanges": 3, "editMessageTimestamp": 4}}, `"body":"x","editedAt":4,"quote":{}`},
}

func TestMessagesAreShownInShort(t *testing.T) {
	on(t, func(t *testing.T, schema int) {
		d := newDesktop(t, signaldesktop.Options{Schema: schema})
		d.people()
		for i, k := range kinds {
			row := columns{
				"id": k.what, "conversationId": "c-team", "type": "incoming", "sourceServiceId": "ada",
				"sent_at": 1000 + i, "received_at": i, "received_at_ms": 2000 + i, "json": columns{},
			}
			for name, val := range k.row {
				row[name] = val
			}
			d.put("messages", row)
		}
		r := d.reader(t, Grants{})
		for i, k := range kinds {
			t.Run(k.what, func(t *testing.T) {
				m, err := r.Message(t.Context(), k.what)
				if err != nil {
					t.Fatal(err)
				}
				if m.SentAt != int64(1000+i) || m.ReceivedAt != int64(2000+i) || m.Sender == nil || m.Sender.Name != "Ada Lovelace" || m.Direction != Incoming {
					t.Errorf("its times and sender are wrong: %+v", m)
				}
				m.ID, m.ConversationID, m.Direction, m.SentAt, m.ReceivedAt, m.Sender = "", "", "", 0, 0, nil
				got, _ := Encode(m)
				if diff := cmp.Diff(`{"id":"","direction":"","sentAt":0,`+k.want+`}`, string(got)); diff != "" {
					t.Error(diff)
				}
			})
		}
	})
}

func TestWhoSentAMessage(t *testing.T) {
	on(t, func(t *testing.T, schema int) {
		d := newDesktop(t, signaldesktop.Options{Schema: schema})
		d.people()
		for _, tt := range []struct {
			what string
			row  columns
			want string
		}{
			{"we, as rows mostly have it", columns{"type": "outgoing"}, `{"serviceId":"self","name":"Me"}`},
			{"a member of the group", columns{"type": "incoming", "sourceServiceId": "bob"}, `{"serviceId":"bob","name":"bob.01"}`},
			{"a stranger", columns{"type": "incoming", "sourceServiceId": "who"}, `{"serviceId":"who"}`},
			{"Signal", columns{"type": "incoming", "sourceServiceId": signalACI}, `{"serviceId":"` + signalACI + `","name":"Signal"}`},
			{"named in json alone", columns{"type": "incoming", "json": columns{"sourceServiceId": "ada"}}, `{"serviceId":"ada","name":"Ada Lovelace"}`},
			{"the other one of a chat", columns{"type": "incoming", "conversationId": "c-bob"}, `{"serviceId":"bob","name":"bob.01"}`},
			{"nobody that is known", columns{"type": "incoming", "source": "+491701234567"}, `null`},
		} {
			row := columns{"id": tt.what, "conversationId": "c-team", "sent_at": 1, "received_at": 1, "json": columns{}}
			for name, val := range tt.row {
				row[name] = val
			}
			d.put("messages", row)
			m, err := d.reader(t, Grants{}).Message(t.Context(), tt.what)
			if err != nil {
				t.Fatal(err)
			}
			if got := asJSON(m.Sender); got != tt.want {
				t.Errorf("%s: got %s, want %s", tt.what, got, tt.want)
			}
		}
	})
}
