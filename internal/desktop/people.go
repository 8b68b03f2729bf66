package desktop

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Names that are Signal's own, or stand for one that is not known.
const (
	signalACI  = "11111111-1111-4111-8111-111111111111" // who Signal's own messages are from
	signalName = "Signal"
	noteName   = "Note to Self"
	unknown    = "Unknown contact"
)

// people are the persons whom messages name, as the account knows them.
type people struct {
	self     string // our own service id
	loaded   bool
	services map[string]*Person // by service id
	chats    map[string]*Person // by the id of the conversation with them
}

// byService is the person of that service id; nil for none.
func (p *people) byService(id string) *Person {
	if id == "" {
		return nil
	}
	if known := p.services[id]; known != nil {
		return known
	}
	return &Person{ServiceID: short(id)}
}

// byConversation is the person whom that conversation is with; nil if unknown.
func (p *people) byConversation(id string) *Person { return p.chats[id] }

// mention is how a person is named in a text.
func (p *people) mention(serviceID string) string {
	return cmp.Or(p.byService(serviceID).Name, unknown)
}

// meet looks up all whom the rows name and who are not known yet.
func (v *view) meet(ctx context.Context, rows []row) error {
	if err := v.readSelf(ctx); err != nil {
		return err
	}
	services, chats := []string{v.people.self}, []string{}
	for _, r := range rows {
		services = append(services, r.source, r.json.SourceServiceID)
		services = slices.AppendSeq(services, maps.Values(mentioned(r.json.BodyRanges)))
		if q := r.json.Quote; q != nil {
			services = append(services, q.author())
			services = slices.AppendSeq(services, maps.Values(mentioned(q.BodyRanges)))
		}
		chats = append(chats, r.conversation)
		for _, re := range r.json.Reactions[:min(len(r.json.Reactions), maxReactions)] {
			chats = append(chats, re.FromID)
		}
	}
	if err := v.lookUp(ctx, "serviceId", v.people.services, services); err != nil {
		return err
	}
	return v.lookUp(ctx, "id", v.people.chats, chats)
}

// lookUp adds those people to known whose column of conversations is one of the
// ids. For whom nobody is found it notes that.
func (v *view) lookUp(ctx context.Context, column string, known map[string]*Person, ids []string) error {
	for ids := range slices.Chunk(unmet(known, ids), 1000) {
		c := in(column, ids)
		err := each(ctx, v.db, func(rows *sql.Rows) (bool, error) {
			var id, service string
			var data []byte
			err := rows.Scan(&id, &service, &data)
			known[id] = v.people.person(service, data)
			return true, err
		}, "SELECT "+column+", COALESCE(serviceId, ''), json FROM conversations WHERE type = 'private' AND "+c.String(), c.args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// unmet are the ids that are not known, each once, which from now on are.
func unmet(known map[string]*Person, ids []string) (fresh []string) {
	for _, id := range ids {
		if _, met := known[id]; !met && id != "" {
			known[id] = nil
			fresh = append(fresh, id)
		}
	}
	return fresh
}

func (p *people) person(serviceID string, data []byte) *Person {
	c := decode[conversationJSON](data)
	return &Person{ServiceID: cmp.Or(c.service(), serviceID), Name: c.personName()}
}

// readSelf finds out our own service id.
func (v *view) readSelf(ctx context.Context) error {
	if v.people.loaded {
		return nil
	}
	data, _, err := one(ctx, v.db, value[[]byte], "SELECT json FROM items WHERE id = 'uuid_id'")
	if err != nil {
		return err
	}
	item := decode[struct {
		Value string `json:"value"` // service id, dot, number of the device
	}](data)
	id, _, _ := strings.Cut(item.Value, ".")
	v.people = people{self: id, loaded: true, services: map[string]*Person{signalACI: {signalACI, signalName}}, chats: map[string]*Person{}}
	return nil
}

// personName is what Signal calls a person, in its own order, but never the
// number of a phone: it takes the name that comes next.
func (c conversationJSON) personName() string {
	if c.service() == signalACI {
		return signalName
	}
	return short(firstName(c.E164, joined(c.NicknameGiven, c.NicknameFamily), c.Name, joined(c.ProfileName, c.ProfileFamily), c.Username))
}

// firstName is the first of the names that is not empty and no phone number.
func firstName(e164 string, names ...string) string {
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" && !isNumber(name, e164) {
			return name
		}
	}
	return ""
}

// leastNumber is how many digits are a phone number where nothing else is.
const leastNumber = 7

// isNumber reports whether a name is or holds the number e164, as it is dialled
// at home or from abroad, or is another one: digits of any script and no letter,
// whatever is between them.
func isNumber(name, e164 string) bool {
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, name)
	own := strings.TrimPrefix(e164, "+")
	if home := strings.TrimLeft(digits, "0"); digits != "" && digits == own || len(home) >= leastNumber && strings.HasSuffix(own, home) {
		return true
	}
	count := 0
	for _, r := range name {
		if unicode.IsLetter(r) {
			return false
		}
		if unicode.IsDigit(r) {
			count++
		}
	}
	return count >= leastNumber
}

func joined(given, family string) string { return strings.TrimSpace(given + " " + family) }
