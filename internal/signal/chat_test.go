package signal

import (
	"testing"

	"aldis/internal/hub"
)

// chatSpellings are what callers write, and the one spelling that we use.
var chatSpellings = []struct {
	name, in string
	want     hub.ChatID // empty: Invalid
}{
	{"number", "+15555550101", "+15555550101"},
	{"number with blanks around", " +15555550101\n", "+15555550101"},
	{"number without a country code", "5555550101", ""},
	{"number with a letter", "+1555555010a", ""},
	{"number that is too long", "+1234567890123456", ""},
	{"UUID", bobUUID, bobUUID},
	{"UUID in capitals", "B0B00000-0000-4000-8000-000000000101", bobUUID},
	{"UUID that is too short", "b0b00000-0000-4000-8000-00000000010", ""},
	{"PNI", "PNI:" + bobUUID, "PNI:" + bobUUID},
	{"PNI in small letters", "pni:" + bobUUID, "PNI:" + bobUUID},
	{"PNI without a UUID", "PNI:bob", ""},
	{"username", "u:nobody.01", "u:nobody.01"},
	{"username that is empty", "u:", ""},
	{"group", "group:" + opsGroup, "group:" + opsGroup},
	{"group, URL-safe", "group:zFNrL-gz_-LssRB_OiIbwjblXx63iddHEZiepvunCiM=", "group:" + opsGroup},
	{"group, not padded", "group:zFNrL+gz/+LssRB/OiIbwjblXx63iddHEZiepvunCiM", "group:" + opsGroup},
	{"group of signal-cli-rest-api", "group.ekZOckwrZ3ovK0xzc1JCL09pSWJ3amJsWHg2M2lkZEhFWmllcHZ1bkNpTT0=", "group:" + opsGroup},
	{"group of signal-cli-rest-api, encoded once", "group." + opsGroup, ""},
	{"group that is empty", "group:", ""},
	{"group that is not base64", "group:not base64!", ""},
	{"group id alone could be anything", opsGroup, ""},
	{"name", "Bob", ""},
	{"nothing", "", ""},
}

func TestChat(t *testing.T) {
	c := &Client{Account: aliceNumber}
	for _, tt := range chatSpellings {
		t.Run(tt.name, func(t *testing.T) {
			got, err := c.Chat(tt.in)
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Fatalf("got %q, %v; want %q", got, err, tt.want)
			}
			if err != nil && hub.KindOf(err) != hub.Invalid {
				t.Errorf("kind %s", hub.KindOf(err))
			}
		})
	}
}

func TestSameChat(t *testing.T) {
	c := &Client{Account: aliceNumber}
	c.setup()
	if c.SameChat(bobNumber, bobUUID) {
		t.Error("nobody has said yet that this is one person")
	}
	c.people.learn(address{Number: bobNumber, UUID: bobUUID, Username: "bob.01"}, "")
	tests := []struct {
		name string
		a, b hub.ChatID
		want bool
	}{
		{"number and UUID of one person", bobNumber, bobUUID, true},
		{"username and number of one person", "u:bob.01", bobNumber, true},
		{"two people", bobNumber, aliceNumber, false},
		{"two strangers", "+15555550177", "+15555550178", false},
		{"one stranger", "+15555550177", "+15555550177", true},
		{"a group", "group:" + opsGroup, "group:" + opsGroup, true},
		{"a group and a person", "group:" + opsGroup, bobNumber, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := c.SameChat(tt.a, tt.b); got != tt.want {
				t.Errorf("SameChat(%q, %q) = %v", tt.a, tt.b, got)
			}
		})
	}
}
