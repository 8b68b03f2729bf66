package signaldesktop

// Ids of the conversations that Options.Content puts in.
const (
	Alice      = "chat-alice"         // in the address book as "Alice Example"; her profile is "Ali"
	Bob        = "chat-bob"           // has the nickname "Bobby Tables"; archived
	Carol      = "chat-carol"         // has a profile name alone, "Carol Danvers"; muted
	Dave       = "chat-dave"          // has a phone number alone
	Erin       = "chat-erin"          // has a username alone, "erin.42"
	Frank      = "chat-frank"         // known by a group alone: his active_at is NULL
	Grace      = "chat-grace"         // "Grace"; her other names are '', as they were before schema 1680
	Team       = "chat-team"          // group "Team 🚀"; pinned, with unread messages
	OldGroup   = "chat-old-group"     // group "Old Friends" that we have left
	NoteToSelf = "chat-note-to-self"  // with Self
	SignalChat = "chat-of-signal-app" // with SignalACI
)

// Service ids of the people.
const (
	Self      = "5e1f0000-0000-4000-8000-000000000000"
	AliceACI  = "a11ce000-0000-4000-8000-000000000001"
	BobACI    = "b0b00000-0000-4000-8000-000000000002"
	CarolACI  = "ca401000-0000-4000-8000-000000000003"
	DaveACI   = "dafe0000-0000-4000-8000-000000000004"
	ErinACI   = "e4170000-0000-4000-8000-000000000005"
	FrankACI  = "f4a2c000-0000-4000-8000-000000000006"
	GraceACI  = "94ace000-0000-4000-8000-000000000007"
	SignalACI = "11111111-1111-4111-8111-111111111111"
)

// Words that nobody is to be shown, wherever Options.Content has put them.
const (
	Secret = "TOP-SECRET" // in drafts, notes, keys, paths, what was edited, erased or may be seen once
	Number = "+15555550199"
)

// A fields is a row of a table, or an object of JSON.
type fields = map[string]any

type conversation struct {
	id, serviceID string // a group has no service id
	idle          bool   // active_at is NULL
	json          fields
}

// conversations are in the order of their activity, the newest first.
var conversations = []conversation{
	{id: Team, json: fields{
		"name": "Team 🚀", "groupId": "dGVhbQ==", "groupVersion": 2, "isPinned": true, "unreadCount": 2,
		"membersV2": members(Self, AliceACI, BobACI, FrankACI),
	}},
	{id: Alice, serviceID: AliceACI, json: fields{"name": "Alice Example", "profileName": "Ali", "e164": Number, "unreadCount": 1}},
	{id: Bob, serviceID: BobACI, json: fields{
		"nicknameGivenName": "Bobby", "nicknameFamilyName": "Tables", "name": "Robert", "profileName": "Bob", "isArchived": true,
	}},
	{id: Carol, serviceID: CarolACI, json: fields{"profileName": "Carol", "profileFamilyName": "Danvers", "muteExpiresAt": int64(9007199254740991)}},
	{id: Dave, serviceID: DaveACI, json: fields{"e164": Number, "markedUnread": true}},
	{id: Erin, serviceID: ErinACI, json: fields{"username": "erin.42"}},
	{id: Grace, serviceID: GraceACI, json: fields{"nicknameGivenName": "", "name": "", "profileName": "Grace", "profileFamilyName": ""}},
	{id: OldGroup, json: fields{"name": "Old Friends", "groupId": "b2xk", "groupVersion": 2, "left": true, "membersV2": members(AliceACI)}},
	{id: NoteToSelf, serviceID: Self, json: fields{"profileName": "Me", "e164": Number}},
	{id: SignalChat, serviceID: SignalACI, json: fields{"name": "Signal"}},
	{id: Frank, serviceID: FrankACI, idle: true, json: fields{"profileName": "Frank"}},
}

func members(acis ...string) (list []fields) {
	for _, aci := range acis {
		list = append(list, fields{"aci": aci, "role": 1, "joinedAtVersion": 0})
	}
	return list
}

// row is the conversation's, of which the i-th was active the i-th last.
//
// Signal fills the columns of names too, but reads json alone, and so should
// everybody: groupId is left out of its column, as Signal did for a while.
func (c conversation) row(schema, i int) fields {
	json := fields{"id": c.id, "type": "group", "version": 2}
	for _, name := range []string{"draft", "note", "lastMessage", "profileKey", "masterKey", "secretParams", "about", "storageID"} {
		json[name] = Secret
	}
	json["draftEditMessage"] = fields{"body": Secret}
	for name, val := range c.json {
		json[name] = val
	}
	row := fields{"id": c.id, "name": c.json["name"], "profileName": c.json["profileName"], "e164": c.json["e164"]}
	if c.serviceID != "" {
		json["type"] = "private"
		name := named(schema, "serviceId", "uuid")
		json[name], row[name] = c.serviceID, c.serviceID
	}
	if !c.idle {
		row["active_at"] = firstTime + int64(len(contents)-i)*apart
		json["active_at"], json["timestamp"] = row["active_at"], row["active_at"]
	}
	row["type"], row["json"] = json["type"], json
	return row
}

// named is what a field is called that was renamed in schema 88.
func named(schema int, now, before string) string {
	if schema < 88 {
		return before
	}
	return now
}
