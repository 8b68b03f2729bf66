package desktop

import (
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
)

// A row is a message as the database has it: columns, and json for what has
// none. Since schema 1270 a column wins over the same field of json, which old
// rows still have.
type row struct {
	place
	id, conversation, kind, body string
	receivedAt                   sql.NullInt64 // Unix milliseconds
	source                       string        // service id of its sender; empty for most that we sent
	erased, viewOnce, hasFiles   bool
	json                         messageJSON
}

// rowColumns is what scanRow scans, of the table m.
func (s *schema) rowColumns() string {
	receivedAt := "NULL"
	if s.has("messages", "received_at_ms") {
		receivedAt = "CAST(m.received_at_ms AS INTEGER)"
	}
	return "m.received_at, " + sent + ", m.rowid, COALESCE(m.id, ''), COALESCE(m.conversationId, ''), m.type, COALESCE(m.body, ''), " +
		receivedAt + ", COALESCE(m.sourceServiceId, ''), m.isErased IS TRUE, m.isViewOnce IS TRUE, " +
		"m.hasAttachments IS TRUE OR m.hasFileAttachments IS TRUE OR m.hasVisualMediaAttachments IS TRUE, m.json"
}

func scanRow(rows *sql.Rows) (r row, err error) {
	var data []byte
	err = rows.Scan(&r.received, &r.sent, &r.row, &r.id, &r.conversation, &r.kind, &r.body,
		&r.receivedAt, &r.source, &r.erased, &r.viewOnce, &r.hasFiles, &data)
	r.json = decode[messageJSON](data)
	r.json.Reactions = slices.DeleteFunc(r.json.Reactions, func(r reactionJSON) bool { return r.Emoji == "" }) // taken back
	r.erased = r.erased || bool(r.json.IsErased)
	r.viewOnce = r.viewOnce || bool(r.json.IsViewOnce)
	return r, err
}

// scanListed is scanRow for a list. It lets go of texts that are longer than what
// a list shows, names in the place of mentions or not.
func scanListed(rows *sql.Rows) (row, error) {
	r, err := scanRow(rows)
	if len(r.body) > 2*listBody {
		r.body = strings.Clone(r.body[:2*listBody])
	}
	return r, err
}

// decode reads as much of a value of JSON as is what it is expected to be; the
// rest stays zero, and so does all of what is no JSON. The fields of T are a
// list of what may be read at all.
func decode[T any](data []byte) (val T) {
	_ = json.Unmarshal(data, &val) // goes on after a value of another type
	return val
}

// A truth hides something, so it is set by all that JavaScript takes for true,
// not by true alone.
type truth bool

// UnmarshalJSON implements [json.Unmarshaler].
func (t *truth) UnmarshalJSON(data []byte) error {
	*t = truth(!slices.Contains([]string{"false", "null", "0", `""`}, string(data)))
	return nil
}

// messageJSON is what is read of the column messages.json.
type messageJSON struct {
	ReceivedAtMS    int64  `json:"received_at_ms"`
	SourceServiceID string `json:"sourceServiceId"`
	IsErased        truth  `json:"isErased"`
	IsViewOnce      truth  `json:"isViewOnce"`
	Deleted         truth  `json:"deletedForEveryone"`
	EditedAt        int64  `json:"editMessageTimestamp"`

	BodyRanges     []bodyRange      `json:"bodyRanges"`
	Quote          *quoteJSON       `json:"quote"`
	Attachments    []attachmentJSON `json:"attachments"`    // before schema 1360
	BodyAttachment *attachmentJSON  `json:"bodyAttachment"` // a long text, likewise
	Reactions      []reactionJSON   `json:"reactions"`
	Sticker        *stickerJSON     `json:"sticker"`
	Poll           *pollJSON        `json:"poll"`
	Previews       []previewJSON    `json:"preview"`
	Contacts       []contactJSON    `json:"contact"`
}

type quoteJSON struct {
	ID         int64  `json:"id"` // sent_at of the message that is quoted
	AuthorACI  string `json:"authorAci"`
	AuthorUUID string `json:"authorUuid"` // what it was called before schema 88
	Text       string `json:"text"`
	ViewOnce   truth  `json:"isViewOnce"`
	NotFound   bool   `json:"referencedMessageNotFound"`

	BodyRanges  []bodyRange      `json:"bodyRanges"`
	Attachments []attachmentJSON `json:"attachments"`
}

type attachmentJSON struct {
	ContentType string  `json:"contentType"`
	FileName    string  `json:"fileName"`
	Caption     string  `json:"caption"`
	Size        int64   `json:"size"`
	Width       int     `json:"width"`
	Height      int     `json:"height"`
	Duration    float64 `json:"duration"` // seconds
	Flags       int64   `json:"flags"`
	Path        string  `json:"path"` // empty: not downloaded
}

type reactionJSON struct {
	Emoji  string `json:"emoji"`
	FromID string `json:"fromId"` // id of a conversation
	At     int64  `json:"timestamp"`
}

type stickerJSON struct {
	Emoji string `json:"emoji"`
}

type pollJSON struct {
	Question string   `json:"question"`
	Options  []string `json:"options"`
}

type previewJSON struct {
	URL   string `json:"url"`
	Title string `json:"title"`
}

type contactJSON struct {
	Name struct {
		Display  string `json:"displayName"`
		Nickname string `json:"nickname"`
		Given    string `json:"givenName"`
		Family   string `json:"familyName"`
	} `json:"name"`
	Organization string `json:"organization"`
}
