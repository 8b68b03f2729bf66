package signal

import "encoding/json"

// The shapes below hold what we need of signal-cli's JSON, versions 0.13.19 to
// 0.14.7; the rest is skipped. A null leaves the zero value.

// A frame is one line of the daemon: an answer (ID) or a notice (Method).
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params notice          `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

// A notice is the params of "receive". In manual mode they are wrapped once
// more, as the result of a subscription.
type notice struct {
	Account   string    `json:"account"`
	Envelope  *envelope `json:"envelope"`
	Exception *struct{} `json:"exception"`
	Result    *notice   `json:"result"`
}

type envelope struct {
	SourceNumber string       `json:"sourceNumber"`
	SourceUUID   string       `json:"sourceUuid"`
	SourceName   string       `json:"sourceName"`
	SourceDevice int64        `json:"sourceDevice"`
	Timestamp    int64        `json:"timestamp"`
	Data         *dataMessage `json:"dataMessage"`
	Edit         *editMessage `json:"editMessage"`
	Sync         *syncMessage `json:"syncMessage"`
	Receipt      *struct{}    `json:"receiptMessage"`
	Typing       *struct{}    `json:"typingMessage"`
	Call         *struct{}    `json:"callMessage"`
	Story        *struct{}    `json:"storyMessage"`
}

type dataMessage struct {
	Timestamp    int64        `json:"timestamp"`
	Message      string       `json:"message"`
	ViewOnce     bool         `json:"viewOnce"`
	Quote        *quote       `json:"quote"`
	Reaction     *reaction    `json:"reaction"`
	RemoteDelete *timestamped `json:"remoteDelete"`
	AdminDelete  *targeted    `json:"adminDelete"`
	Mentions     []mention    `json:"mentions"`
	Attachments  []attachment `json:"attachments"`
	Group        *groupInfo   `json:"groupInfo"`
	Story        *struct{}    `json:"storyContext"`
}

type editMessage struct {
	Target int64        `json:"targetSentTimestamp"`
	Data   *dataMessage `json:"dataMessage"`
}

type syncMessage struct {
	Sent *sentMessage `json:"sentMessage"`
}

// A sentMessage is what another device of ours has sent: a dataMessage with
// its destination, or an edit alone.
type sentMessage struct {
	Number string `json:"destinationNumber"`
	UUID   string `json:"destinationUuid"`
	dataMessage
	Edit *editMessage `json:"editMessage"`
}

type quote struct {
	ID       int64     `json:"id"`
	Number   string    `json:"authorNumber"`
	UUID     string    `json:"authorUuid"`
	Text     string    `json:"text"`
	Mentions []mention `json:"mentions"`
}

type targeted struct {
	Number string `json:"targetAuthorNumber"`
	UUID   string `json:"targetAuthorUuid"`
	Target int64  `json:"targetSentTimestamp"`
}

type reaction struct {
	Emoji string `json:"emoji"`
	targeted
	Remove bool `json:"isRemove"`
}

type timestamped struct {
	Timestamp int64 `json:"timestamp"`
}

type mention struct {
	Name   string `json:"name"`
	Number string `json:"number"`
	UUID   string `json:"uuid"`
	Start  int    `json:"start"` // in UTF-16 units
}

type attachment struct {
	ContentType string `json:"contentType"`
	Filename    string `json:"filename"`
	ID          string `json:"id"`
	Size        *int64 `json:"size"`
}

type groupInfo struct {
	ID string `json:"groupId"`
}

// An rpcError is the error of an answer. A failed send has its results in it.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// A sendResult answers whatever sends something.
type sendResult struct {
	Timestamp int64             `json:"timestamp"`
	Results   []recipientResult `json:"results"`
}

type recipientResult struct {
	Address    address `json:"recipientAddress"`
	Type       string  `json:"type"`
	Token      string  `json:"token"`
	RetryAfter int64   `json:"retryAfterSeconds"` // seconds; -1: unknown
}

// An address names one person in up to three ways.
type address struct {
	Number   string `json:"number"`
	UUID     string `json:"uuid"`
	Username string `json:"username"`
}

// A request is one line to the daemon.
type request struct {
	Version string `json:"jsonrpc"`
	ID      uint64 `json:"id"`
	Method  string `json:"method"`
	Params  params `json:"params"`
}

// params are those of every method that we call.
type params struct {
	Account         string   `json:"account,omitempty"`
	Recipient       any      `json:"recipient,omitempty"` // a list, but for sendReceipt a plain string
	GroupID         string   `json:"groupId,omitempty"`   // standard base64
	NoteToSelf      bool     `json:"noteToSelf,omitempty"`
	Message         string   `json:"message,omitempty"`
	Attachments     []string `json:"attachments,omitempty"` // paths or data URIs
	QuoteTimestamp  int64    `json:"quoteTimestamp,omitempty"`
	QuoteAuthor     string   `json:"quoteAuthor,omitempty"`
	QuoteMessage    string   `json:"quoteMessage,omitempty"`
	EditTimestamp   int64    `json:"editTimestamp,omitempty"`
	Emoji           string   `json:"emoji,omitempty"`
	TargetAuthor    string   `json:"targetAuthor,omitempty"`
	TargetTimestamp int64    `json:"targetTimestamp,omitempty"`
	Remove          bool     `json:"remove,omitempty"`
	Type            string   `json:"type,omitempty"`
	DeviceLinkURI   string   `json:"deviceLinkUri,omitempty"`
	DeviceName      string   `json:"deviceName,omitempty"`
}
