package phone

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"aldis/internal/hub"
)

// A journal is a file of changes, one JSON object a line, which is only ever
// added to. It is not synced: it is to outlive the process, not the machine.
type journal struct {
	f    *os.File // nil: nothing is kept
	torn bool     // the last line may have been cut short, by a full disk
}

// openJournal opens the file at path, and has apply make each change in it
// once more. With an empty path there is none.
func openJournal(path string, apply func(line)) (*journal, error) {
	if path == "" {
		return &journal{}, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open what the demo's phone kept: %w", err)
	}
	if err := replay(f, apply); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("read what the demo's phone kept in %s: %w", path, err)
	}
	return &journal{f: f}, nil
}

// replay ends the last line if a kill has cut it short. Nobody was told of
// that change.
func replay(f *os.File, apply func(line)) error {
	r := bufio.NewReader(f)
	for {
		text, err := r.ReadBytes('\n')
		var l line
		if json.Unmarshal(text, &l) == nil {
			apply(l)
		}
		switch {
		case err == io.EOF && len(text) > 0:
			_, err = f.WriteString("\n")
			return err
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// append adds l in one write, so that a kill cuts no line but the last.
func (j *journal) append(l line) error {
	if j.f == nil {
		return nil
	}
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if j.torn {
		b = append([]byte("\n"), b...)
	}
	_, err = j.f.Write(append(b, '\n'))
	j.torn = err != nil
	return err
}

func (j *journal) close() error {
	if j.f == nil {
		return nil
	}
	return j.f.Close()
}

// pictureTypes are the images that a phone takes, by how a browser shows them,
// and how their files' names end. SVG is none: it can hold a script.
var pictureTypes = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp", "image/gif": ".gif",
}

// A picture is an image in a bubble. Its ID is its file's name.
type picture struct {
	ID   string `json:"id"`
	Name string `json:"name"` // as its sender called it
	Type string `json:"type"`
	Size int64  `json:"size"`
}

// An upload is a picture as the page posts it.
type upload struct {
	Name string `json:"name"`
	Data []byte `json:"data"` // base64
}

// pictures is the folder with the images that were sent.
type pictures struct {
	dir  string
	temp bool // nothing is to outlive the process
	root *os.Root
}

// openPictures opens the folder beside the file at path.
func openPictures(path string) (*pictures, error) {
	dir, err := pictureDir(path)
	if err != nil {
		return nil, fmt.Errorf("make a folder for the pictures of the demo's phone: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the pictures of the demo's phone: %w", err)
	}
	return &pictures{dir, path == "", root}, nil
}

// pictureDir returns the folder's whole path: agents are given it.
func pictureDir(path string) (string, error) {
	if path == "" {
		return os.MkdirTemp("", "aldis-phone-")
	}
	dir, err := filepath.Abs(path + ".pictures")
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}

func (p *pictures) close() error {
	err := p.root.Close()
	if p.temp {
		err = errors.Join(err, os.RemoveAll(p.dir))
	}
	return err
}

// save keeps the pictures of the message key. The same ones saved again are
// the same files. It fails with Invalid for what is no image.
func (p *pictures) save(key string, us []upload) ([]picture, error) {
	var saved []picture
	for i, u := range us {
		kind := http.DetectContentType(u.Data)
		end, ok := pictureTypes[kind]
		if !ok {
			return nil, hub.Errorf(hub.Invalid, "a picture is a PNG, JPEG, WebP or GIF, not %s", kind)
		}
		x := picture{key + "-" + strconv.Itoa(i) + end, hub.OneLine(u.Name, hub.PreviewBytes), kind, int64(len(u.Data))}
		if err := p.root.WriteFile(x.ID, u.Data, 0o600); err != nil {
			return nil, &hub.Error{Kind: hub.Unavailable, Msg: "the demo's phone can't keep the picture", Err: err}
		}
		saved = append(saved, x)
	}
	return saved, nil
}

// load returns the bytes of x.
func (p *pictures) load(x picture) (*bytes.Reader, error) {
	b, err := p.root.ReadFile(x.ID)
	if err != nil {
		return nil, fmt.Errorf("read a picture: %w", err)
	}
	return bytes.NewReader(b), nil
}

// attachments are pics as agents get them.
func (p *pictures) attachments(pics []picture) []hub.Attachment {
	var as []hub.Attachment
	for _, x := range pics {
		as = append(as, hub.Attachment{Name: x.Name, Type: x.Type, Size: x.Size, Path: filepath.Join(p.dir, x.ID)})
	}
	return as
}
