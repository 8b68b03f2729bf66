package gate

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aldis/internal/hub"
)

const whole = `{
  "policy": "pairing",
  "people": [
    {"platform": "signal", "id": "b0b00000-0000-4000-8000-000000000102", "shown_as": "+15550002", "name": "Bob <b>", "since": "2026-11-30T12:00:00Z"},
    {"platform": "signal", "id": "+15550003"}
  ],
  "groups": [{"platform": "signal", "id": "group:AAAA"}],
  "bindings": [{"platform": "signal", "id": "+15550003", "lasting": "x", "moved": "2026-11-30T12:00:00+01:00"}],
  "pairings": [{"code": "ABCDEF", "platform": "signal", "chat": "+15559001", "id": "+15559001", "expires": "2026-11-30T13:00:00Z", "answers": 1}]
}`

func TestParseAccess(t *testing.T) {
	for _, tt := range []struct{ name, in, wrong string }{
		{"everything", whole, ""},
		{"a policy alone", `{"policy":"disabled"}`, ""},
		{"lists of nothing", `{"policy":"allowlist","people":null,"groups":[]}`, ""},
		{"nothing", ``, "it ends too early"},
		{"null", `null`, "policy"},
		{"no policy", `{}`, "policy"},
		{"a policy that there is not", `{"policy":"open"}`, "policy"},
		{"a list", `[]`, "can't be"},
		{"cut short", whole[:100], "it ends too early"},
		{"a comma too much", "{\n\"policy\": \"pairing\",\n}", "line "}, // that of the comma, or the next: releases of Go differ
		{"more after the end", `{"policy":"pairing"} {}`, "after its end"},
		{"a field that there is not", `{"policy":"pairing","peolpe":[]}`, "peolpe"},
		{"a field of an entry that there is not", `{"policy":"pairing","people":[{"platform":"signal","id":"+15550003","admin":true}]}`, "admin"},
		{"a policy twice", `{"policy":"disabled","policy":"pairing"}`, "twice"},
		{"a policy twice, once in capitals", `{"policy":"disabled","POLICY":"pairing"}`, "POLICY"},
		{"a policy twice, once in odd letters", `{"policy":"disabled","polıcy":"pairing"}`, "polıcy"},
		{"a field of an entry twice", `{"policy":"pairing","people":[{"platform":"signal","id":"a","id":"b"}]}`, "twice"},
		{"the wrong type", "{\n\"policy\":\"pairing\",\n\"people\":{}}", "people"},
		{"a person without a platform", `{"policy":"pairing","people":[{"id":"+15550003"}]}`, "people[0]"},
		{"a person without an id", `{"policy":"pairing","people":[{"platform":"signal"}]}`, "people[0]"},
		{"a person twice", `{"policy":"pairing","people":[{"platform":"signal","id":"a"},{"platform":"signal","id":"a"}]}`, "people[1]"},
		{"a group twice", `{"policy":"pairing","groups":[{"platform":"signal","id":"a"},{"platform":"signal","id":"a"}]}`, "groups[1]"},
		{"a binding to nobody", `{"policy":"pairing","bindings":[{"platform":"signal","id":"a"}]}`, "bindings[0]"},
		{"a name bound twice", `{"policy":"pairing","bindings":[{"platform":"signal","id":"a","lasting":"x"},{"platform":"signal","id":"a","lasting":"y"}]}`, "bindings[1]"},
		{"a pairing without a code", `{"policy":"pairing","pairings":[{"platform":"signal","id":"a","chat":"a","code":""}]}`, "pairings[0]"},
		{"a time that is none", `{"policy":"pairing","people":[{"platform":"signal","id":"a","since":"+15550003"}]}`, "a time"},
		{"nested deep", strings.Repeat("[", 1000), "too deep"},
		{"not UTF-8", "{\"policy\":\"pairing\xff\"}", "UTF-8"},
		{"too long", strings.Repeat(" ", MaxAccessBytes) + `{"policy":"pairing"}`, "longer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseAccess([]byte(tt.in))
			if tt.wrong == "" && err == nil {
				return
			}
			if tt.wrong == "" || hub.KindOf(err) != hub.Invalid || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%v, want one about %q", err, tt.wrong)
			}
			if strings.Contains(err.Error(), "+1555") {
				t.Errorf("the error names somebody: %v", err)
			}
		})
	}
}

func TestMarshalIsForPeopleToo(t *testing.T) {
	got, err := Access{Policy: PolicyAllowlist, Groups: []Group{{"signal", "group:A&B"}}}.Marshal()
	want := `{
  "policy": "allowlist",
  "people": [],
  "groups": [
    {
      "platform": "signal",
      "id": "group:A&B"
    }
  ],
  "bindings": [],
  "pairings": []
}
`
	if d := cmp.Diff(want, string(got)); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

func TestHandWrittenIdsAreSpelledAsThePlatformDoes(t *testing.T) {
	spell := func(_ hub.PlatformID, id string, group bool) (hub.ChatID, error) {
		if strings.HasPrefix(id, "group:") != group {
			return "", errors.New("it is " + id)
		}
		return hub.ChatID(strings.ToLower(id)), nil
	}
	in := Access{Policy: PolicyAllowlist, People: []Person{{Platform: "signal", ID: "B0B"}}, Groups: []Group{{"signal", "group:A"}}}
	got, err := in.Spelled(spell)
	if err != nil || got.People[0].ID != "b0b" || got.Groups[0].ID != "group:a" || in.People[0].ID != "B0B" {
		t.Errorf("%+v from %+v: %v", got, in, err)
	}
	for name, a := range map[string]Access{
		"a group among people": {Policy: PolicyAllowlist, People: []Person{{Platform: "signal", ID: "group:a"}}},
		"a person for a group": {Policy: PolicyAllowlist, Groups: []Group{{"signal", "b0b"}}},
		"two that are one":     {Policy: PolicyAllowlist, People: []Person{{Platform: "signal", ID: "b0b"}, {Platform: "signal", ID: "B0B"}}},
	} {
		if _, err := a.Spelled(spell); hub.KindOf(err) != hub.Invalid || strings.Contains(strings.ToLower(err.Error()), "b0b") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzParseAccess: whatever a file holds, it is refused, or it means what
// Marshal makes of it.
func FuzzParseAccess(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`{"policy":"pairing","pairings":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := ParseAccess(b)
		if err != nil {
			if hub.KindOf(err) != hub.Invalid {
				t.Fatalf("an error of kind %s: %v", hub.KindOf(err), err)
			}
			return
		}
		out, err := a.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseAccess(out)
		if err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		if d := cmp.Diff(a, again, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("(-first +again):\n%s", d)
		}
	})
}
