package signal

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"aldis/internal/hub"
)

// longTextType marks the attachment that holds the whole of a text longer than
// 2,000 bytes. Daemons before 0.14 give the first part alone as the message.
const longTextType = "text/x-signal-plain"

// maxLongText is more than Signal lets anybody send.
const maxLongText = 1 << 20

// A folder is where signal-cli keeps what it has received. Attachments name
// files in it: an id is outside input and may name nothing else.
type folder string

// attachments looks up which of as lie here.
func (f folder) attachments(as []attachment) []hub.Attachment {
	if len(as) == 0 {
		return nil
	}
	out := make([]hub.Attachment, len(as))
	for i, a := range as {
		out[i] = hub.Attachment{Name: hub.StripControl(a.Filename), Type: hub.StripControl(a.ContentType), Size: -1}
		if a.Size != nil && *a.Size >= 0 {
			out[i].Size = *a.Size
		}
		if size, ok := f.size(a.ID); ok {
			out[i].Path, out[i].Size = filepath.Join(string(f), a.ID), size
		}
	}
	return out
}

// size returns the size of a regular file of that bare name. Links don't count.
func (f folder) size(id string) (int64, bool) {
	if !bare(id) {
		return 0, false
	}
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return 0, false
	}
	defer root.Close()
	info, err := root.Lstat(id)
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

func bare(id string) bool {
	return id != "" && fs.ValidPath(id) && id != "." && !strings.ContainsAny(id, `/\:`)
}

// longText returns the whole text and the other attachments. A long text that
// is not here stays listed, so that its reader knows that there is more.
func (f folder) longText(text string, as []attachment) (string, []attachment) {
	for i, a := range as {
		if a.ContentType != longTextType {
			continue
		}
		whole, ok := f.read(a.ID)
		if a.Size != nil && *a.Size == int64(len(text)) {
			whole, ok = text, true
		}
		if !ok || !strings.HasPrefix(whole, strings.TrimRight(text, "\uFFFD")) { // it may be cut within a character
			return text, as
		}
		rest := append([]attachment(nil), as[:i]...)
		return whole, append(rest, as[i+1:]...)
	}
	return text, as
}

func (f folder) read(id string) (string, bool) {
	if size, ok := f.size(id); !ok || size > maxLongText {
		return "", false
	}
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return "", false
	}
	defer root.Close()
	file, err := root.Open(id)
	if err != nil {
		return "", false
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxLongText))
	return strings.ToValidUTF8(string(raw), "\uFFFD"), err == nil
}
