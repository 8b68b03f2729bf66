package desktop

import (
	"context"
	"database/sql"
)

// voice is the flag of an attachment that is a voice message
// (SignalService.proto, AttachmentPointer.Flags).
const voice = 1

// longText is the media type of a text that is too long for a message, and
// comes as a file.
const longText = "text/x-signal-plain"

// files are what the table of attachments, of schema 1360 and later, has of a
// message.
type files struct {
	shown   []Attachment
	partial bool // a long text is there of which only the head has been downloaded
}

// attachments reads that table, if there is one. A message that it says nothing
// of is not in the answer.
func (v *view) attachments(ctx context.Context, rows []row) (map[string]*files, error) {
	byID := map[string]*files{}
	if len(rows) == 0 || !v.schema.hasTable("message_attachments") {
		return byID, nil
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.id
	}
	c := in("messageId", ids)
	c.add("editHistoryIndex = -1") // the message as it is now
	err := each(ctx, v.db, func(rows *sql.Rows) (bool, error) {
		var id, kind string
		var a attachmentJSON
		err := rows.Scan(&id, &kind, &a.ContentType, &a.FileName, &a.Caption, &a.Size, &a.Width, &a.Height, &a.Duration, &a.Flags, &a.Path)
		f := byID[id]
		if f == nil {
			f = &files{}
			byID[id] = f
		}
		f.add(kind, a)
		return true, err
	}, "SELECT messageId, attachmentType, COALESCE(contentType, ''), COALESCE(fileName, ''), COALESCE(caption, ''), COALESCE(size, 0), "+
		"COALESCE(width, 0), COALESCE(height, 0), "+v.schema.duration()+", COALESCE(flags, 0), COALESCE(path, '') "+
		"FROM message_attachments WHERE "+c.String()+" ORDER BY messageId, attachmentType, orderInMessage", c.args...)
	return byID, err
}

// duration is the column of that name, which came later than its table.
func (s *schema) duration() string {
	if s.has("message_attachments", "duration") {
		return "COALESCE(duration, 0)"
	}
	return "0"
}

func (f *files) add(kind string, a attachmentJSON) {
	switch {
	case kind == "long-message" || kind == "attachment" && a.ContentType == longText:
		f.partial = f.partial || a.Path == ""
	case kind == "attachment" && len(f.shown) < maxAttachments:
		f.shown = append(f.shown, a.shown())
	}
}

// attached is what a message has for attachments: what the table says, else what
// json does, else, if columns know of one, that there is one.
func attached(r row, f *files) (shown []Attachment, partial bool) {
	if f == nil {
		f = &files{}
		if r.json.BodyAttachment != nil {
			f.add("long-message", *r.json.BodyAttachment)
		}
		for _, a := range r.json.Attachments {
			f.add("attachment", a)
		}
		if len(r.json.Attachments) == 0 && r.json.BodyAttachment == nil && r.hasFiles {
			f.shown = []Attachment{{Unknown: true}}
		}
	}
	return f.shown, f.partial
}

func (a attachmentJSON) shown() Attachment {
	return Attachment{
		ContentType: short(a.ContentType),
		FileName:    short(a.FileName),
		Caption:     short(a.Caption),
		Size:        a.Size,
		Width:       a.Width,
		Height:      a.Height,
		Duration:    a.Duration,
		Voice:       a.Flags&voice != 0,
		Downloaded:  a.Path != "",
	}
}
