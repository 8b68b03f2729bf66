package signal

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"aldis/internal/hub"
)

// The bounds of files on their way out. What a daemon on another machine gets
// is in the request itself, where no string may be longer than 20,000,000
// characters.
const (
	maxFiles      = 32
	maxLocalFile  = 95 << 20 // bytes
	maxRemoteFile = 14 << 20 // bytes
)

// spoolPrefix starts the name of a folder that holds copies. What an earlier
// run has left is taken away when it is older than spoolAge.
const (
	spoolPrefix = "aldis-out-"
	spoolAge    = time.Hour
)

// A spool holds copies of the files that go with one message: the daemon is
// never given a path that a caller named, since what lies there can change
// once it has been checked.
type spool struct {
	dir  string   // empty when the files are in uris
	uris []string // or paths, as the daemon gets them
}

func (s *spool) names() []string {
	if s == nil {
		return nil
	}
	return s.uris
}

func (s *spool) remove() {
	if s != nil && s.dir != "" {
		_ = os.RemoveAll(s.dir) // what stays cleanSpool takes away
	}
}

// copyOut copies the files of as. It fails with Denied for a file that is not
// in a folder that files may be sent from.
func (c *Client) copyOut(as []hub.Attachment) (*spool, error) {
	switch {
	case len(as) == 0:
		return nil, nil
	case len(c.AttachmentRoots) == 0:
		return nil, hub.Errorf(hub.Denied, "files can't be sent: the hub was started without --attachment-root, which names the folders that they may come from")
	case len(as) > maxFiles:
		return nil, hub.Errorf(hub.Invalid, "%d files are too many for one message: at most %d", len(as), maxFiles)
	}
	s := &spool{}
	for i, a := range as {
		if err := c.addFile(s, i, a.Path); err != nil {
			s.remove()
			return nil, err
		}
	}
	return s, nil
}

func (c *Client) addFile(s *spool, i int, path string) error {
	f, err := c.openInRoots(path)
	if err != nil {
		return err
	}
	defer f.Close()
	limit := int64(maxRemoteFile)
	if local(c.Address) {
		limit = maxLocalFile
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return hub.Errorf(hub.Invalid, "%s is not a regular file", path)
	} else if info.Size() > limit {
		return tooLarge(path, limit)
	}
	name := filepath.Base(path)
	if local(c.Address) {
		return c.copyFile(s, i, f, name, limit)
	}
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return spoolError(err)
	}
	if int64(len(raw)) > limit {
		return tooLarge(path, limit)
	}
	s.uris = append(s.uris, dataURI(name, raw))
	return nil
}

// openInRoots opens path, which is absolute or counts from a root, if it lies
// in one of the roots with all links followed.
func (c *Client) openInRoots(path string) (*os.File, error) {
	missing := false
	for _, dir := range c.AttachmentRoots {
		rel, ok := within(dir, path)
		if !ok {
			continue
		}
		f, err := openIn(dir, rel)
		if err == nil {
			return f, nil
		}
		if hub.KindOf(err) == hub.Invalid {
			return nil, err
		}
		missing = missing || errors.Is(err, fs.ErrNotExist)
	}
	if missing {
		return nil, hub.Errorf(hub.NotFound, "there is no file %s", path)
	}
	return nil, hub.Errorf(hub.Denied, "%s may not be sent: it does not lie, or can't be read, in a folder named by --attachment-root", path)
}

// within returns path from dir's point of view, if it lies there by its name.
// A root that is reached through a link has two names.
func within(dir, path string) (string, bool) {
	if !filepath.IsAbs(path) {
		return path, filepath.IsLocal(path)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		real = dir
	}
	for _, d := range []string{dir, real} {
		d, err := filepath.Abs(d)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(d, path); err == nil && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	return "", false
}

// openIn opens a regular file. It looks before it opens, and again after, when
// the name can't change its meaning any more: to open a pipe would wait.
func openIn(dir, rel string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(rel)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, hub.Errorf(hub.Invalid, "%s is not a regular file", rel)
	}
	return root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// copyFile puts a copy of f into a folder of its own, under its own name,
// which its receivers see.
func (c *Client) copyFile(s *spool, i int, f *os.File, name string, limit int64) error {
	if err := s.open(c.SpoolDir); err != nil {
		return spoolError(err)
	}
	dir := filepath.Join(s.dir, fmt.Sprint(i))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return spoolError(err)
	}
	to, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return spoolError(err)
	}
	size, err := io.Copy(to, io.LimitReader(f, limit+1))
	if err := errors.Join(err, to.Close()); err != nil {
		return spoolError(err)
	}
	if size > limit {
		return tooLarge(name, limit)
	}
	s.uris = append(s.uris, to.Name())
	return nil
}

// open makes the folder for the copies, once.
func (s *spool) open(parent string) error {
	if s.dir != "" {
		return nil
	}
	if parent != "" {
		if err := os.MkdirAll(parent, 0o700); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp(parent, spoolPrefix)
	if err != nil {
		return err
	}
	s.dir, err = filepath.Abs(dir)
	return err
}

func spoolError(err error) error {
	return &hub.Error{Kind: hub.Unavailable, Msg: "the file could not be copied for sending", Err: err}
}

func tooLarge(path string, limit int64) error {
	return hub.Errorf(hub.Invalid, "%s is too large to send: at most %d MB", path, limit>>20)
}

// dataURI is a file as signal-cli takes it in a request.
func dataURI(name string, raw []byte) string {
	kind, _, err := mime.ParseMediaType(mime.TypeByExtension(filepath.Ext(name)))
	if err != nil {
		kind = "application/octet-stream"
	}
	return "data:" + kind + ";filename=" + url.PathEscape(name) + ";base64," + base64.StdEncoding.EncodeToString(raw)
}

// cleanSpool takes away copies that an earlier run has left.
func (c *Client) cleanSpool() {
	if c.SpoolDir == "" {
		return
	}
	entries, err := os.ReadDir(c.SpoolDir)
	if err != nil {
		return // not there yet
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), spoolPrefix) && time.Since(info.ModTime()) > spoolAge {
			_ = os.RemoveAll(filepath.Join(c.SpoolDir, e.Name())) // the next start tries again
		}
	}
}
