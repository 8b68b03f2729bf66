package desktop

// A Message is one message in the short form that hosts are shown: what is
// empty, zero or false is left out.
type Message struct {
	ID             string       `json:"id"`
	ConversationID string       `json:"conversationId,omitempty"` // left out where the query names it
	Direction      Direction    `json:"direction"`
	SentAt         int64        `json:"sentAt"`               // Unix milliseconds, by the sender's clock
	ReceivedAt     int64        `json:"receivedAt,omitempty"` // Unix milliseconds, by our clock, where it is known
	Sender         *Person      `json:"sender,omitempty"`
	Body           string       `json:"body,omitempty"` // with mentions put in their place
	BodyTruncated  bool         `json:"bodyTruncated,omitempty"`
	BodyPartial    bool         `json:"bodyNotDownloaded,omitempty"` // a long text of which Signal has the head alone
	ViewOnce       bool         `json:"isViewOnce,omitempty"`
	Deleted        bool         `json:"isDeleted,omitempty"` // by its sender, for everybody
	Erased         bool         `json:"isErased,omitempty"`  // its content is gone for another reason
	EditedAt       int64        `json:"editedAt,omitempty"`  // Unix milliseconds
	Quote          *Quote       `json:"quote,omitempty"`
	Attachments    []Attachment `json:"attachments,omitempty"`
	Reactions      []Reaction   `json:"reactions,omitempty"`
	Sticker        *Sticker     `json:"sticker,omitempty"`
	Poll           *Poll        `json:"poll,omitempty"`
	Previews       []Preview    `json:"linkPreviews,omitempty"`
	Contacts       []string     `json:"sharedContacts,omitempty"` // names
}

// A Direction is which way a message went.
type Direction string

// The directions of a message.
const (
	Incoming Direction = "incoming"
	Outgoing Direction = "outgoing"
)

// A Person is somebody as messages name them: never by a phone number.
type Person struct {
	ServiceID string `json:"serviceId,omitempty"`
	Name      string `json:"name,omitempty"`
}

// A Quote is what a message answers, as its sender's app copied it.
type Quote struct {
	SentAt      int64             `json:"sentAt,omitempty"` // of the message that is quoted
	Author      *Person           `json:"author,omitempty"`
	Text        string            `json:"text,omitempty"`
	Attachments []QuoteAttachment `json:"attachments,omitempty"`
	ViewOnce    bool              `json:"isViewOnce,omitempty"`
	NotFound    bool              `json:"isNotFound,omitempty"` // what it quotes was not here
}

// A QuoteAttachment is a file of the message that is quoted.
type QuoteAttachment struct {
	ContentType string `json:"contentType,omitempty"`
	FileName    string `json:"fileName,omitempty"`
}

// An Attachment describes a file of a message. Of what may be seen once it says
// no more than that.
type Attachment struct {
	ViewOnce    bool    `json:"isViewOnce,omitempty"`
	ContentType string  `json:"contentType,omitempty"`
	FileName    string  `json:"fileName,omitempty"`
	Caption     string  `json:"caption,omitempty"`
	Size        int64   `json:"size,omitempty"` // bytes
	Width       int     `json:"width,omitempty"`
	Height      int     `json:"height,omitempty"`
	Duration    float64 `json:"duration,omitempty"` // seconds
	Voice       bool    `json:"isVoiceMessage,omitempty"`
	Downloaded  bool    `json:"isDownloaded,omitempty"`
	Unknown     bool    `json:"isUnknown,omitempty"` // there is one, but Signal knows nothing of it
}

// A Reaction is an emoji that somebody gave a message.
type Reaction struct {
	Emoji string  `json:"emoji"`
	From  *Person `json:"from,omitempty"`
	At    int64   `json:"at,omitempty"` // Unix milliseconds
}

// A Sticker is a picture out of a pack.
type Sticker struct {
	Emoji string `json:"emoji,omitempty"`
}

// A Poll is a question with choices.
type Poll struct {
	Question string   `json:"question"`
	Options  []string `json:"options,omitempty"`
}

// A Preview is what a link in a message leads to.
type Preview struct {
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
}
