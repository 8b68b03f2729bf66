package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // the reader's zone is known on a machine that knows none

	"github.com/google/uuid"

	"aldis/internal/hub"
)

const (
	pageSize   = 50
	maxPage    = 200
	maxExclude = 100
)

// A query is what the address of the list asks for: the parameters of seed
// agent-salon.md, and ours.
type query struct {
	hub.LogFilter
	Page int
	zone *time.Location // that the reader gave times in
}

// ways are the values of via.
var ways = []hub.Via{hub.ViaPlatform, hub.ViaTool, hub.ViaNotify, hub.ViaHook, hub.ViaPrompt}

// parseQuery reads an address. An empty parameter, which forms send, is none,
// and neither is one that is not known. It fails with Invalid and names the
// parameter that is wrong.
func parseQuery(v url.Values) (q query, err error) {
	get := func(name string) string { return strings.TrimSpace(strings.ToValidUTF8(v.Get(name), "\uFFFD")) }
	q.LogFilter = hub.LogFilter{
		Source: get("source"), Target: get("target"), ParticipantA: get("participant_a"), ParticipantB: get("participant_b"),
		Via: hub.Via(get("via")), Text: get("q"), Limit: pageSize,
	}
	if q.Via != "" && !slices.Contains(ways, q.Via) {
		return q, hub.Errorf(hub.Invalid, "via: it is platform, tool, notify, hook or prompt")
	}
	if q.Exclude, err = parseExclude(v["exclude"]); err != nil {
		return q, err
	}
	if q.zone, err = time.LoadLocation(get("tz")); err != nil {
		return q, hub.Errorf(hub.Invalid, "tz: no time zone of that name is known, like Europe/Berlin")
	}
	if q.Since, err = q.parseTime("since", get("since")); err != nil {
		return q, err
	}
	if q.Until, err = q.parseTime("until", get("until")); err != nil {
		return q, err
	}
	return q, q.parsePlace(get("page"), get("before"), get("after"))
}

// parseExclude reads lists of names with commas between them.
func parseExclude(lists []string) (names []string, err error) {
	for _, name := range strings.Split(strings.ToValidUTF8(strings.Join(lists, ","), "\uFFFD"), ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	if len(names) > maxExclude {
		return nil, hub.Errorf(hub.Invalid, "exclude: at most %d names", maxExclude)
	}
	return names, nil
}

// parseTime reads RFC 3339, or what a browser's field for a time sends, which
// is in the reader's zone. Where an address was typed, the + of an offset has
// become a blank.
func (q query) parseTime(name, s string) (t time.Time, err error) {
	if s == "" {
		return t, nil
	}
	if t, err = time.Parse(time.RFC3339, strings.Replace(s, " ", "+", 1)); err != nil {
		t, err = time.ParseInLocation("2006-01-02T15:04:05", s, q.zone)
	}
	if err != nil {
		t, err = time.ParseInLocation("2006-01-02T15:04", s, q.zone)
	}
	if t = t.UTC(); err != nil || t.Year() < 0 || t.Year() > 9999 { // an offset can do that
		return t, hub.Errorf(hub.Invalid, "%s: give a time like 2006-01-02T15:04 or 2006-01-02T15:04:05Z", name)
	}
	return t, nil
}

// parsePlace reads which page it is, in one of three ways.
func (q *query) parsePlace(page, before, after string) (err error) {
	given := 0
	for _, s := range []string{page, before, after} {
		if s != "" {
			given++
		}
	}
	if given > 1 {
		return hub.Errorf(hub.Invalid, "page, before, after: only one of them says where to begin")
	}
	if page != "" {
		if q.Page, err = strconv.Atoi(page); err != nil || q.Page < 0 || q.Page > maxPage {
			return hub.Errorf(hub.Invalid, "page: a number from 0 to %d; the links below the list go further", maxPage)
		}
		q.Skip = q.Page * pageSize
	}
	if q.Before, err = parseID("before", before); err != nil {
		return err
	}
	q.After, err = parseID("after", after)
	return err
}

// parseID reads a message's id, or none.
func parseID(name, s string) (hub.MessageID, error) {
	if s == "" {
		return "", nil
	}
	id, err := uuid.Parse(s)
	if err != nil || len(s) != 36 {
		return "", hub.Errorf(hub.Invalid, "%s: this is not the id of a message", name)
	}
	return hub.MessageID(id.String()), nil
}

// First reports whether q asks for the newest messages.
func (q query) First() bool { return q.Page == 0 && q.Before == "" && q.After == "" }

// Filtered reports whether q asks for some messages only.
func (q query) Filtered() bool { return len(q.values()) > 0 }

// Excluded is what the field for exclude shows.
func (q query) Excluded() string { return strings.Join(q.Exclude, ", ") }

// Zone is the name of the zone that Local times are in.
func (q query) Zone() string { return q.zone.String() }

// Ways are what the field for via offers.
func (q query) Ways() []hub.Via { return ways }

// Local is what a browser's field for a time shows.
func (q query) Local(t time.Time) string { return show(t, t.In(q.zone).Format("2006-01-02T15:04:05")) }

// ISO is what the script sets such a field by.
func (q query) ISO(t time.Time) string { return show(t, moment{t}.ISO()) }

func show(t time.Time, s string) string {
	if t.IsZero() {
		return ""
	}
	return s
}

// link is the address of the same list that begins elsewhere.
func (q query) link(where string, id hub.MessageID) string {
	v := q.values()
	if id != "" {
		v.Set(where, string(id))
	}
	if len(v) == 0 {
		return "/admin"
	}
	return "/admin?" + v.Encode()
}

// values are the filters of q. Their times no longer need a zone.
func (q query) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{
		"source": q.Source, "target": q.Target, "participant_a": q.ParticipantA, "participant_b": q.ParticipantB,
		"since": show(q.Since, q.Since.Format(time.RFC3339Nano)), "until": show(q.Until, q.Until.Format(time.RFC3339Nano)), "q": q.Text, "via": string(q.Via),
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if len(q.Exclude) > 0 {
		v["exclude"] = q.Exclude
	}
	return v
}
