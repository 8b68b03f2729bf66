package signaldesktop

import "strings"

// Ids of the messages that Options.Content puts in, in the order in which they
// came. SentAt and ReceivedAt know when.
const (
	Percent         = "m-percent"          // of Alice: "50% off, today"
	PercentDecoy    = "m-percent-decoy"    // what 50% finds if it is a pattern: "50 cents off"
	Underscore      = "m-underscore"       // "snake_case"
	UnderscoreDecoy = "m-underscore-decoy" // "snakeXcase"
	Backslash       = "m-backslash"        // `C:\Users\alice`
	Apostrophe      = "m-apostrophe"       // "it's ';--"
	MidWord         = "m-mid-word"         // "unbelievable"
	Cyrillic        = "m-cyrillic"         // "Привет, мир"
	CyrillicUpper   = "m-cyrillic-upper"   // "ПРИВЕТ, МИР"
	CJK             = "m-cjk"              // "今天天气很好"
	Emoji           = "m-emoji"            // "party 🎉 👩‍👩‍👧 🇩🇪"
	RTL             = "m-rtl"              // "שלום, مرحبا"
	Combining       = "m-combining"        // "cafe" and U+0301
	Composed        = "m-composed"         // "café" with U+00E9
	Long            = "m-long"             // 9,000 bytes, ends in LongNeedle
	Longer          = "m-longer"           // 100,000 bytes, ends in LongNeedle
	Plain           = "m-plain"            // we to Alice, our service id not noted: "sent by us"
	StaleJSON       = "m-stale-json"       // "of the column", while json says Secret

	ViewOnce       = "m-view-once" // with text and picture, which are Secret
	ViewOnceSeen   = "m-view-once-seen"
	Erased         = "m-erased"
	Deleted        = "m-deleted"           // for everyone
	Edited         = "m-edited"            // "better"; before, it was Secret, with a file
	Quoting        = "m-quoting"           // answers Percent
	QuotingNothing = "m-quoting-nothing"   // answers what is not here
	QuotingOnce    = "m-quoting-view-once" // answers ViewOnce
	Sticker        = "m-sticker"
	Reacted        = "m-reacted" // by Alice with 👍 and by us with ❤️; Bob took his back
	Mention        = "m-mention" // to Team: U+FFFC, who is Bob, ", look"
	Poll           = "m-poll"    // to Team: "Pizza or pasta?"; it has no body
	Preview        = "m-preview" // a link to https://example.org/
	Contact        = "m-contact" // Alice shares Eve Example
	Story          = "m-story"   // of Alice, "a story"
	StoryReply     = "m-story-reply"

	LongText    = "m-long-text"    // 2,048 bytes of it, the rest has not been downloaded
	Files       = "m-files"        // a picture that is here, and a PDF that is not
	Voice       = "m-voice"        // 2.5 seconds
	LegacyFile  = "m-legacy-file"  // in json alone: legacy.png
	UnknownFile = "m-unknown-file" // the row says that there is one, and nothing does which

	TieA = "m-tie-a" // these came and were sent at the same time, by all clocks
	TieB = "m-tie-b"
	TieC = "m-tie-c"

	GroupEvent   = "m-group-event"
	KeyChange    = "m-key-change"
	CallHistory  = "m-call-history"
	PollEnd      = "m-poll-end"
	TeamNews     = "m-team-news"   // of Frank to Team: "news"
	OldNews      = "m-old-news"    // of Alice to OldGroup
	ReminderNote = "m-reminder"    // we to ourselves: "buy milk"
	SignalNews   = "m-signal-news" // of Signal
	ByDave       = "m-by-dave"     // of him who has a number alone
	ByErin       = "m-by-erin"     // of her who has a username alone
	ByCarol      = "m-by-carol"    // of her who is muted
	ByGrace      = "m-by-grace"    // of her who has empty names
	BySomebody   = "m-by-somebody" // to Team, of one who is in no conversation
	StoryToTeam  = "m-team-story"  // of Alice to Team
	Newest       = "m-newest"      // of Alice: "the newest"
)

// LongNeedle is where Long and Longer end, far behind what their pages hold.
const LongNeedle = "the end of a long text"

// A message is a row, without what follows from its place in the list.
type message struct {
	id      string
	chat    string
	from    string // service id; empty: we, whose own id Signal mostly does not note
	body    string
	columns fields // besides those, or instead
	json    fields
	quotes  string // id of the message that json's quote is of
	files   []file // in the table of attachments, or in json before there was one
	tied    bool   // came at the same time as the one before
}

// A file is a row of the table of attachments.
type file struct {
	kind    string // attachmentType
	edit    int    // editHistoryIndex, one more: 0 is the message as it is now
	columns fields
}

var contents = []message{
	{id: Percent, chat: Alice, from: AliceACI, body: "50% off, today"},
	{id: PercentDecoy, chat: Alice, from: AliceACI, body: "50 cents off"},
	{id: Underscore, chat: Alice, from: AliceACI, body: "snake_case"},
	{id: UnderscoreDecoy, chat: Alice, body: "snakeXcase"},
	{id: Backslash, chat: Alice, body: `C:\Users\alice`},
	{id: Apostrophe, chat: Alice, from: AliceACI, body: "it's ';--"},
	{id: MidWord, chat: Bob, from: BobACI, body: "unbelievable"},
	{id: Cyrillic, chat: Bob, from: BobACI, body: "Привет, мир"},
	{id: CyrillicUpper, chat: Bob, body: "ПРИВЕТ, МИР"},
	{id: CJK, chat: Bob, from: BobACI, body: "今天天气很好"},
	{id: Emoji, chat: Bob, from: BobACI, body: "party 🎉 👩‍👩‍👧 🇩🇪"},
	{id: RTL, chat: Bob, body: "שלום, مرحبا"},
	{id: Combining, chat: Bob, from: BobACI, body: "cafe\u0301"},
	{id: Composed, chat: Bob, from: BobACI, body: "caf\u00e9"},
	{id: Long, chat: Bob, from: BobACI, body: long(9_000)},
	{id: Longer, chat: Bob, from: BobACI, body: long(100_000)},
	{id: Plain, chat: Alice, body: "sent by us"},
	{id: StaleJSON, chat: Alice, from: AliceACI, body: "of the column", json: fields{"body": Secret, "sourceServiceId": BobACI, "received_at_ms": 1}},

	{
		id: ViewOnce, chat: Alice, from: AliceACI, body: Secret, columns: fields{"isViewOnce": 1, "hasAttachments": 1, "hasVisualMediaAttachments": 1},
		json: fields{"isViewOnce": true}, files: []file{picture(Secret+".jpg", "")},
	},
	{id: ViewOnceSeen, chat: Alice, from: AliceACI, columns: fields{"isViewOnce": 1, "isErased": 1, "body": nil}, json: fields{"isViewOnce": true, "isErased": true}},
	{id: Erased, chat: Alice, from: AliceACI, columns: fields{"isErased": 1, "hasAttachments": 1}, json: fields{"isErased": true}},
	{
		id: Deleted, chat: Alice, from: AliceACI, columns: fields{"isErased": 1},
		json: fields{"deletedForEveryone": true, "deletedForEveryoneTimestamp": firstTime, "isErased": true, "reactions": []fields{}},
	},
	{
		id: Edited, chat: Alice, from: AliceACI, body: "better",
		json: fields{"editMessageTimestamp": firstTime + 123, "editHistory": []fields{
			{"body": "better", "timestamp": firstTime + 123}, {"body": Secret, "timestamp": firstTime},
		}},
		files: []file{{kind: "attachment", edit: 1, columns: fields{"contentType": "text/plain", "size": 5, "fileName": Secret + ".txt"}}},
	},
	{id: Quoting, chat: Alice, body: "deal", quotes: Percent, json: fields{"quote": fields{"authorAci": AliceACI, "text": "50% off, today", "messageId": Secret}}},
	{id: QuotingNothing, chat: Alice, body: "what?", json: fields{"quote": fields{
		"id": 1234, "authorAci": FrankACI, "text": "long gone", "referencedMessageNotFound": true,
		"attachments": []fields{{"contentType": "image/png", "fileName": "gone.png", "thumbnail": fields{"path": Secret}}},
	}}},
	{id: QuotingOnce, chat: Alice, body: "saw it", quotes: ViewOnce, json: fields{"quote": fields{
		"authorAci": AliceACI, "text": Secret, "isViewOnce": true,
		"attachments": []fields{{"contentType": "image/jpeg", "fileName": Secret}},
	}}},
	{
		id: Sticker, chat: Alice, from: AliceACI, json: fields{"sticker": fields{"packId": "0123456789abcdef", "packKey": Secret, "stickerId": 3, "emoji": "😀"}},
		files: []file{{kind: "sticker", columns: fields{"contentType": "image/webp", "size": 9_000, "path": Secret}}},
	},
	{id: Reacted, chat: Alice, from: AliceACI, body: "we won", json: fields{"reactions": []fields{
		{"emoji": "👍", "fromId": Alice, "timestamp": firstTime + 1, "targetTimestamp": 2},
		{"emoji": "❤️", "fromId": NoteToSelf, "timestamp": firstTime + 3, "targetTimestamp": 2},
		{"fromId": Bob, "timestamp": firstTime + 4, "targetTimestamp": 2},
	}}},
	{id: Mention, chat: Team, from: AliceACI, body: "\uFFFC, look", json: fields{"bodyRanges": []fields{
		{"start": 0, "length": 1, "mentionAci": BobACI}, {"start": 3, "length": 4, "style": 1},
	}}},
	{id: Poll, chat: Team, from: BobACI, json: fields{"poll": fields{
		"question": "Pizza or pasta?", "options": []string{"Pizza", "Pasta"}, "allowMultiple": false, "votes": []fields{{"fromConversationId": Secret}},
	}}},
	{
		id: Preview, chat: Alice, from: AliceACI, body: "see https://example.org/", json: fields{"preview": []fields{{"url": "https://example.org/", "title": "An example"}}},
		files: []file{{kind: "preview", columns: fields{"contentType": "image/jpeg", "size": 1_000, "path": Secret}}},
	},
	{id: Contact, chat: Alice, from: AliceACI, json: fields{"contact": []fields{
		{"name": fields{"givenName": "Eve", "familyName": "Example"}, "number": []fields{{"value": Number, "type": 1}}},
	}}},
	{id: Story, chat: Alice, from: AliceACI, body: "a story", columns: fields{"type": "story"}},
	{id: StoryReply, chat: Alice, from: AliceACI, body: "answers a story", columns: fields{"storyId": Story}},

	{
		id: LongText, chat: Carol, from: CarolACI, body: strings.Repeat("words ", 341) + "cu", columns: fields{"hasAttachments": 1},
		files: []file{{kind: "long-message", columns: fields{"contentType": "text/x-signal-plain", "size": 20_000}}},
	},
	{id: Files, chat: Carol, from: CarolACI, body: "two files", columns: fields{"hasAttachments": 1, "hasFileAttachments": 1, "hasVisualMediaAttachments": 1}, files: []file{
		picture("sea.jpg", "aa/"+Secret),
		{kind: "attachment", columns: fields{"contentType": "application/pdf", "size": 54_321, "fileName": "paper.pdf", "pending": 0, "error": 1}},
	}},
	{id: Voice, chat: Carol, from: CarolACI, columns: fields{"hasAttachments": 1, "hasFileAttachments": 1}, files: []file{
		{kind: "attachment", columns: fields{"contentType": "audio/aac", "size": 4_000, "flags": 1, "duration": 2.5, "path": "bb/" + Secret}},
	}},
	{id: LegacyFile, chat: Carol, from: CarolACI, columns: fields{"hasAttachments": 1, "hasVisualMediaAttachments": 1}, json: fields{"attachments": []fields{
		{"contentType": "image/png", "size": 77, "fileName": "legacy.png", "width": 7, "height": 11, "path": "cc/" + Secret, "localKey": Secret},
	}}},
	{id: UnknownFile, chat: Carol, from: CarolACI, columns: fields{"hasAttachments": 1, "hasFileAttachments": 1}},

	{id: TieA, chat: Carol, from: CarolACI, body: "tied, the first"},
	{id: TieB, chat: Carol, body: "tied, the second", tied: true},
	{id: TieC, chat: Carol, from: CarolACI, body: "tied, the third", tied: true},

	{id: GroupEvent, chat: Team, from: AliceACI, columns: fields{"type": "group-v2-change"}, json: fields{"groupV2Change": fields{"from": AliceACI}}},
	{id: KeyChange, chat: Alice, columns: fields{"type": "keychange"}, json: fields{"key_changed": AliceACI}},
	{id: CallHistory, chat: Alice, columns: fields{"type": "call-history"}, json: fields{"callId": "1"}},
	{id: PollEnd, chat: Team, from: BobACI, columns: fields{"type": "poll-terminate"}},
	{id: TeamNews, chat: Team, from: FrankACI, body: "news"},
	{id: OldNews, chat: OldGroup, from: AliceACI, body: "old news"},
	{id: ReminderNote, chat: NoteToSelf, body: "buy milk"},
	{id: SignalNews, chat: SignalChat, from: SignalACI, body: "What's new in Signal"},
	{id: ByDave, chat: Dave, from: DaveACI, body: "no name", columns: fields{"source": Number}},
	{id: ByErin, chat: Erin, from: ErinACI, body: "a username"},
	{id: ByCarol, chat: Carol, from: CarolACI, body: "be quiet"},
	{id: ByGrace, chat: Grace, from: GraceACI, body: "an old friend"},
	{id: BySomebody, chat: Team, from: "d0000000-0000-4000-8000-00000000000d", body: "who am I?"},
	{id: StoryToTeam, chat: Team, from: AliceACI, body: "a story to the team", columns: fields{"type": "story"}},
	{id: Newest, chat: Alice, from: AliceACI, body: "the newest"},
}

// long is a text of so many bytes.
func long(bytes int) string {
	return strings.Repeat("lorem ipsum ", bytes/12+1)[:bytes-len(LongNeedle)-1] + " " + LongNeedle
}

func picture(name, path string) file {
	return file{kind: "attachment", columns: fields{
		"contentType": "image/jpeg", "size": 123_456, "fileName": name, "caption": "by the sea", "width": 640, "height": 480, "path": nullable(path),
	}}
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}
