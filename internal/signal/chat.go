package signal

import (
	"encoding/base64"
	"regexp"
	"strings"

	"aldis/internal/hub"
)

// groupPrefix marks the chat id of a group. What follows is standard base64,
// which is how the daemon spells a group id.
const groupPrefix = "group:"

var (
	numberForm   = regexp.MustCompile(`^\+[1-9][0-9]{4,14}$`)
	uuidForm     = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	usernameForm = regexp.MustCompile(`^[\p{L}\p{N}_.]{3,64}$`)
)

// Chat parses the spellings of a chat that people and programs use: a number
// (E.164), a UUID, "PNI:" and a UUID, "u:" and a username, "group:" and the
// group id in standard or URL-safe base64, or "group." and the doubly encoded
// group id of signal-cli-rest-api. Nothing is guessed from bare base64.
func (c *Client) Chat(s string) (hub.ChatID, error) {
	s = strings.TrimSpace(s)
	low := strings.ToLower(s)
	pni, isPNI := strings.CutPrefix(low, "pni:")
	name, isName := strings.CutPrefix(s, "u:")
	switch {
	case numberForm.MatchString(s):
		return hub.ChatID(s), nil
	case uuidForm.MatchString(low):
		return hub.ChatID(low), nil
	case isPNI && uuidForm.MatchString(pni):
		return hub.ChatID(pniPrefix + pni), nil
	case isName && usernameForm.MatchString(name):
		return hub.ChatID(s), nil
	}
	if id, ok := groupID(s); ok {
		return hub.ChatID(groupPrefix + id), nil
	}
	return "", hub.Errorf(hub.Invalid, "%q names no Signal chat: give a number with its country code (+15551234567), "+
		"a UUID, u:USERNAME, or group: and the group's id in base64, as chat_id and list_chats show it", hub.Clip(s, 100))
}

// groupID returns the standard base64 of the group that s names.
func groupID(s string) (string, bool) {
	if enc, ok := strings.CutPrefix(s, groupPrefix); ok {
		raw, ok := unbase64(enc)
		return base64.StdEncoding.EncodeToString(raw), ok
	}
	enc, ok := strings.CutPrefix(s, "group.")
	if !ok {
		return "", false
	}
	inner, ok := unbase64(enc)
	if !ok {
		return "", false
	}
	raw, ok := unbase64(string(inner))
	return base64.StdEncoding.EncodeToString(raw), ok
}

// unbase64 decodes either alphabet, padded or not. Empty is no id.
func unbase64(s string) ([]byte, bool) {
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	if strings.ContainsAny(s, "\r\n") {
		return nil, false // the decoder would skip them
	}
	raw, err := base64.RawStdEncoding.DecodeString(s)
	return raw, err == nil && len(raw) > 0
}

// SameChat reports whether two ids name one chat: they are equal, or names of
// one person as far as the daemon has told us.
func (c *Client) SameChat(a, b hub.ChatID) bool {
	if a == b {
		return true
	}
	if isGroup(a) || isGroup(b) {
		return false
	}
	c.setup()
	x := c.people.find(addressOf(string(a)))
	return x != nil && x == c.people.find(addressOf(string(b)))
}

func isGroup(chat hub.ChatID) bool { return strings.HasPrefix(string(chat), groupPrefix) }

// to fills in the recipient of a message to chat.
func (p *params) to(chat hub.ChatID) {
	if id, ok := strings.CutPrefix(string(chat), groupPrefix); ok {
		p.GroupID = id
		return
	}
	p.Recipient = []string{string(chat)}
}
