package web

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
)

const someID = "01a22e8c-9d76-7572-b151-e93661064e85"

func parse(t *testing.T, raw string) (query, error) {
	t.Helper()
	v, err := url.ParseQuery(raw)
	if err != nil {
		t.Fatal(err)
	}
	return parseQuery(v)
}

func TestAnAddressSaysWhatIsShown(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tt := range []struct {
		address string
		want    hub.LogFilter
	}{
		{"", hub.LogFilter{}},
		{"source=&target=&since=&page=&via=&tz=UTC", hub.LogFilter{}}, // an empty form
		{"source=ci&target=+deploy-bot+", hub.LogFilter{Source: "ci", Target: "deploy-bot"}},
		{"participant_a=a&participant_b=b", hub.LogFilter{ParticipantA: "a", ParticipantB: "b"}},
		{"exclude=a&exclude=b,+c,&exclude=", hub.LogFilter{Exclude: []string{"a", "b", "c"}}},
		{"q=build+failed&via=notify", hub.LogFilter{Text: "build failed", Via: hub.ViaNotify}},
		{"q=caf%e9+%ff", hub.LogFilter{Text: "caf\uFFFD \uFFFD"}},         // not UTF-8
		{"form=b&utm_source=mail&source=ci", hub.LogFilter{Source: "ci"}}, // parameters of somebody else's
		{"page=0", hub.LogFilter{}},
		{"page=3", hub.LogFilter{Skip: 150}},
		{"page=200", hub.LogFilter{Skip: 10000}},
		{"before=" + someID, hub.LogFilter{Before: someID}},
		{"after=" + strings.ToUpper(someID), hub.LogFilter{After: someID}},
		{"since=2026-11-30T12:00:00Z&until=2026-11-30T14:00:00.5%2B01:00", hub.LogFilter{Since: at("2026-11-30T12:00:00Z"), Until: at("2026-11-30T13:00:00.5Z")}},
		{"since=2026-11-30T13:00:00+01:00", hub.LogFilter{Since: at("2026-11-30T12:00:00Z")}}, // typed, + for a blank
		{"since=2026-07-01T12:00&until=2026-12-01T12:00:30", hub.LogFilter{Since: at("2026-07-01T12:00:00Z"), Until: at("2026-12-01T12:00:30Z")}},
		{"since=2026-07-01T12:00&until=2026-12-01T12:00:30&tz=Europe/Berlin", hub.LogFilter{Since: at("2026-07-01T10:00:00Z"), Until: at("2026-12-01T11:00:30Z")}},
	} {
		tt.want.Limit = pageSize
		q, err := parse(t, tt.address)
		if err != nil {
			t.Errorf("%s: %v", tt.address, err)
			continue
		}
		if d := cmp.Diff(tt.want, q.LogFilter); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.address, d)
		}
	}
}

func TestABadParameterIsNamed(t *testing.T) {
	for address, name := range map[string]string{
		"page=-1":                               "page",
		"page=201":                              "page",
		"page=x":                                "page",
		"page=1&before=" + someID:               "page, before, after",
		"before=" + someID + "&after=" + someID: "page, before, after",
		"before=1":                              "before",
		"after=urn:uuid:" + someID:              "after",
		"since=yesterday":                       "since",
		"until=9999-12-31T23:59:59-12:00":       "until",
		"until=2026-11-30":                      "until",
		"since=0000-01-01T00:00:00%2B12:00":     "since",
		"tz=Mars/Olympus":                       "tz",
		"tz=../../etc/passwd":                   "tz",
		"via=pigeon":                            "via",
		"exclude=" + strings.Repeat("a,", 101):  "exclude",
	} {
		_, err := parse(t, address)
		if hub.KindOf(err) != hub.Invalid || !strings.HasPrefix(hub.Readable(err), name+":") {
			t.Errorf("%s: %v, want it Invalid and beginning with %s:", address, err, name)
		}
	}
}

func TestTheFormShowsTimesInTheZoneThatTheyWereGivenIn(t *testing.T) {
	q, err := parse(t, "since=2026-07-01T12:00&tz=Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	if local, iso := q.Local(q.Since), q.ISO(q.Since); local != "2026-07-01T12:00:00" || iso != "2026-07-01T03:00:00.000Z" || q.Zone() != "Asia/Tokyo" {
		t.Errorf("%s, %s in %s", local, iso, q.Zone())
	}
	if got := q.Local(q.Until); got != "" {
		t.Errorf("no time is shown as %q", got)
	}
}

// FuzzQuery: an address of any words is refused, or its own links lead to the
// same list.
func FuzzQuery(f *testing.F) {
	f.Add("source=a&exclude=b,c&since=2026-07-01T12:00&tz=Europe/Berlin&page=2")
	f.Add("q=%00%ff&via=hook&before=" + someID)
	f.Add("participant_a=a&participant_b=%E2%80%AE&until=2026-11-30T12:00:00%2B01:00")
	f.Fuzz(func(t *testing.T, raw string) {
		v, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		q, err := parseQuery(v)
		if err != nil {
			if hub.KindOf(err) != hub.Invalid {
				t.Fatalf("%v is not Invalid", err)
			}
			return
		}
		u, err := url.Parse(q.link("before", someID))
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseQuery(u.Query())
		if err != nil {
			t.Fatalf("%s: %v", u, err)
		}
		want := q.LogFilter
		want.Before, want.After, want.Skip = someID, "", 0
		if d := cmp.Diff(want, again.LogFilter); d != "" {
			t.Fatalf("%s (-want +got):\n%s", u, d)
		}
	})
}
