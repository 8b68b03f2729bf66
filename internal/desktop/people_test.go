package desktop

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hubtest/signaldesktop"
)

func TestPeopleHaveNamesAsInSignal(t *testing.T) {
	for _, tt := range []struct {
		what, json, want string
	}{
		{"what we call them", `{"nicknameGivenName":"Al","nicknameFamilyName":"B","name":"C","profileName":"D"}`, "Al B"},
		{"the address book", `{"name":"C","profileName":"D","username":"e.01"}`, "C"},
		{"what they call themselves", `{"name":"","profileName":"D","profileFamilyName":"E"}`, "D E"},
		{"a family name alone", `{"profileFamilyName":"E"}`, "E"},
		{"a username", `{"profileName":" ","username":"e.01"}`, "e.01"},
		{"nothing", `{"e164":"+491701234567"}`, ""},
		{"never the number", `{"name":"+491701234567","profileName":"0170 1234567","username":"e.01","e164":"+491701234567"}`, "e.01"},
		{"nor a short one", `{"name":"12345","e164":"12345"}`, ""},
		{"nor one that is dressed up", `{"name":"\u2066+49 (170) 123-45.67\u2069"}`, ""},
		{"nor one in other digits", `{"name":"٠١٧٠١٢٣٤٥٦٧","profileName":"+４９１７０１２３４５６７"}`, ""},
		{"nor with other signs between", `{"name":"0170\u20131234567","profileName":"+49\u2011170\t1234567 \u260e"}`, ""},
		{"nor their own as dialled at home", `{"name":"Mobile 0170 1234567","username":"e.01","e164":"+491701234567"}`, "e.01"},
		{"though numbers may be in a name", `{"name":"Unit 7654321"}`, "Unit 7654321"},
		{"Signal", `{"serviceId":"` + signalACI + `","name":"x"}`, "Signal"},
		{"no JSON", `{`, ""},
	} {
		if got := decode[conversationJSON]([]byte(tt.json)).personName(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.what, got, tt.want)
		}
	}
}

func TestConversationsAreShownInShort(t *testing.T) {
	on(t, func(t *testing.T, schema int) {
		d := newDesktop(t, signaldesktop.Options{Schema: schema})
		d.people()
		d.put("conversations",
			columns{"id": "never", "type": "private", "json": columns{"profileName": "Never"}},
			columns{"id": "c-old", "type": "group", "active_at": 5, "json": columns{
				"name": "Old", "left": true, "isArchived": true, "isPinned": true, "markedUnread": true, "unreadCount": 3, "muteExpiresAt": 99,
			}},
		)
		r := d.reader(t, Grants{})
		for _, tt := range []struct {
			q    ConversationQuery
			want string
		}{
			{ConversationQuery{}, `{"conversations":[{"id":"c-team","type":"group","name":"Team","activeAt":40,"memberCount":2},` +
				`{"id":"c-ada","type":"direct","name":"Ada Lovelace","serviceId":"ada","activeAt":30},` +
				`{"id":"c-bob","type":"direct","name":"bob.01","serviceId":"bob","activeAt":20},` +
				`{"id":"c-self","type":"direct","name":"Note to Self","serviceId":"self","activeAt":10,"isNoteToSelf":true},` +
				`{"id":"c-old","type":"group","name":"Old","activeAt":5,"unreadCount":3,"mutedUntil":99,"isArchived":true,"isPinned":true,"isMarkedUnread":true,"hasLeft":true}` +
				`],"hasMore":false}`},
			{ConversationQuery{Limit: 1}, `{"conversations":[{"id":"c-team","type":"group","name":"Team","activeAt":40,"memberCount":2}],"hasMore":true}`},
			{ConversationQuery{Name: "LOVE"}, `{"conversations":[{"id":"c-ada","type":"direct","name":"Ada Lovelace","serviceId":"ada","activeAt":30}],"hasMore":false}`},
			{ConversationQuery{Name: "7654321"}, `{"conversations":[],"hasMore":false}`},
		} {
			ans, err := r.Conversations(t.Context(), tt.q)
			got, _ := Encode(ans)
			if diff := cmp.Diff(tt.want, string(got)); diff != "" || err != nil {
				t.Errorf("%+v: %v\n%s", tt.q, err, diff)
			}
		}
	})
}

// TestNothingElseIsShown puts words into each field that is none of anybody's
// business, and looks for them in all answers.
func TestNothingElseIsShown(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	d.people()
	hidden := columns{"serviceId": "ada", "profileName": "Ada", "e164": "+49SECRET"}
	for _, field := range strings.Fields("lastMessage draft note profileKey masterKey secretParams publicParams accessKey draftEditMessage about senderKeyInfo lastMessageAuthor description storageID quotedMessageId groupInviteLinkPassword") {
		hidden[field] = "SECRET"
	}
	d.put("conversations", columns{"id": "c-ada", "type": "private", "active_at": 1, "serviceId": "ada", "e164": "+49SECRET", "name": "SECRET", "json": hidden})
	d.put("messages", columns{
		"id": "m", "conversationId": "c-ada", "type": "incoming", "source": "+49SECRET", "body": "hi", "sent_at": 1, "received_at": 1, "json": columns{
			"source": "+49SECRET", "editHistory": []columns{{"body": "SECRET"}}, "sendStateByConversationId": columns{"SECRET": 1},
			"quote":       columns{"id": 1, "author": "+49SECRET", "text": "q", "messageId": "SECRET"},
			"attachments": []columns{{"contentType": "a/b", "key": "SECRET", "path": "SECRET", "digest": "SECRET", "localKey": "SECRET"}},
			"reactions":   []columns{{"emoji": "x", "fromId": "+49SECRET"}}, "errors": []columns{{"message": "SECRET"}},
			"contact": []columns{{"name": columns{"displayName": "+49 170 1234567"}, "number": []columns{{"value": "SECRET"}}}},
		},
	})
	r := d.reader(t, Grants{})
	list, err1 := r.Conversations(t.Context(), ConversationQuery{})
	page, err2 := r.Messages(t.Context(), MessageQuery{Conversation: "c-ada"})
	found, err3 := r.Search(t.Context(), SearchQuery{Text: "hi"})
	one, err4 := r.Message(t.Context(), "m")
	got, err5 := Encode([]any{list, page, found, one})
	for _, err := range []error{err1, err2, err3, err4, err5} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, word := range []string{"SECRET", "+49", "1234567"} {
		if strings.Contains(string(got), word) {
			t.Errorf("%q is in %s", word, got)
		}
	}
	if !strings.Contains(string(got), `"name":"Ada"`) {
		t.Errorf("nothing is shown: %s", got)
	}
}
