package desktop

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// stranger is a view of a database in which nobody is known.
func stranger(g Grants) *view {
	return &view{&session{people: people{self: "self"}}, &Reader{grants: g}}
}

func FuzzMessageJSON(f *testing.F) {
	f.Add("hi \uFFFC", []byte(`{"bodyRanges":[{"start":3,"mentionAci":"a"}],"quote":{"id":5,"text":"q","attachments":[{"fileName":"f"}]},
		"attachments":[{"contentType":"image/png","size":1e3,"path":"p"}],"reactions":[{"emoji":"👍","fromId":"c"}],
		"poll":{"question":"?","options":["a","b"]},"preview":[{"url":"https://x"}],"contact":[{"name":{"displayName":"D"}}],"sticker":{"emoji":"e"}}`), int64(4))
	f.Add("\xff", []byte(`{"quote":{"id":"5","isViewOnce":true,"text":"once"},"reactions":{"emoji":1},"isViewOnce":true}`), int64(0))
	f.Add("gone", []byte(`{"deletedForEveryone":true,"attachments":[null],"quote":null,"poll":{"options":[1,null]}}`), int64(9))
	f.Fuzz(func(t *testing.T, body string, data []byte, since int64) {
		r := row{id: "m", kind: "incoming", body: body, json: decode[messageJSON](data)}
		r.viewOnce, r.erased = bool(r.json.IsViewOnce), bool(r.json.IsErased)
		m := stranger(Grants{Since: since}).message(r, nil, listBody)
		b, err := Encode(m)
		if err != nil || !json.Valid(b) || !utf8.Valid(b) {
			t.Fatalf("not JSON: %q, %v", b, err)
		}
		if q := m.Quote; q != nil && (q.ViewOnce || q.SentAt < since) && q.Text != "" {
			t.Errorf("quotes what may not be seen: %q", q.Text)
		}
		if (m.ViewOnce || m.Deleted || m.Erased) && (m.Body != "" || m.Quote != nil || len(m.Previews) > 0) {
			t.Errorf("shows what is gone: %s", b)
		}
		if fitting([]Message{m}); len(b) > pageBytes*3 {
			t.Errorf("a message of %d bytes", len(b))
		}
		if page, _ := Encode(fitting([]Message{m})); len(page) > pageBytes {
			t.Errorf("a page of %d bytes", len(page))
		}
	})
}

func FuzzConversationJSON(f *testing.F) {
	f.Add([]byte(`{"name":"+49 170 1234567","profileName":"Ada","profileFamilyName":"L","e164":"+491701234567","serviceId":"a","draft":"secret"}`))
	f.Add([]byte(`{"nicknameGivenName":"\ud800","username":"ada.01","membersV2":[{},{"aci":1}],"muteExpiresAt":9007199254740991}`))
	f.Add([]byte(`{"name":"491701234567","e164":"+491701234567"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := decode[conversationJSON](data)
		name := c.personName()
		if !utf8.ValidString(name) || len(name) > maxName {
			t.Errorf("a name that cannot be shown: %q", name)
		}
		if number := strings.TrimPrefix(c.E164, "+"); len(number) >= 7 && strings.Trim(number, "0123456789") == "" && strings.TrimPrefix(name, "+") == number {
			t.Errorf("a number for a name: %q", name)
		}
	})
}
