package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
)

// A Change is a proved edit of a client's file that is not made yet.
type Change struct {
	Path string // the file; a symbolic link is followed

	before, after []byte
	exists        bool
	mode          fs.FileMode
}

// Needed reports whether the file does not have what it should already.
func (ch *Change) Needed() bool { return !bytes.Equal(ch.before, ch.after) }

// Put prepares to make s an entry of a client's file, in place of an older one
// of that name. It fails if the file cannot be read, with a *SyntaxError if it is
// not what it should be, and if the older entry is another program's.
func (c *Client) Put(path string, s Server) (*Change, error) {
	d, err := c.load(path)
	if err != nil {
		return nil, err
	}
	return d.put(s)
}

// Cut prepares to take an entry of ours out of a client's file. It fails as Put
// does. A file or an entry that is not there needs no change.
func (c *Client) Cut(path, name string) (*Change, error) {
	d, err := c.load(path)
	if err != nil {
		return nil, err
	}
	return d.cut(name)
}

// A draft is a file that is being edited.
type draft struct {
	client *Client
	change *Change
	mark   []byte // what comes before the text: a byte order mark, or nothing
	text   []byte
	root   map[string]any
	table  []string // where its servers are
	after  []byte   // the text once it is edited
}

func (c *Client) load(path string) (*draft, error) {
	ch := &Change{Path: path, mode: 0o600}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		ch.Path = target
	}
	text, err := os.ReadFile(ch.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if info, err := os.Stat(ch.Path); err == nil {
		ch.exists, ch.mode = true, info.Mode().Perm()
	}
	d, err := c.draftOf(ch, text)
	if err != nil {
		return nil, fmt.Errorf("%w; nothing was changed: mend the file, or put the lines in by hand", err)
	}
	return d, nil
}

func (c *Client) draftOf(ch *Change, text []byte) (*draft, error) {
	ch.before, ch.after = text, text
	d := &draft{client: c, change: ch, table: slices.Clip(slices.Clone(c.table))}
	if bytes.HasPrefix(text, byteOrderMark) {
		d.mark, text = byteOrderMark, text[len(byteOrderMark):]
	}
	d.text = text
	root, err := c.decode(text)
	if wrong, ok := errors.AsType[*SyntaxError](err); ok {
		wrong.Path = ch.Path
	}
	servers, _ := root["mcp"].(map[string]any)
	if deeperTable(c, servers) != nil {
		d.table = append(d.table, "servers")
	}
	d.root = root
	return d, err
}

func (d *draft) put(s Server) (*Change, error) {
	old, present := tableOf(d.client, d.root)[s.Name]
	raw, _ := old.(map[string]any)
	if e := d.client.understand(s.Name, raw); present && !e.ours(strings.TrimSuffix(s.URL, "/mcp")) {
		return nil, fmt.Errorf("%s has another server called %s already: give --name, or take that one out", d.change.Path, s.Name)
	}
	wanted := d.client.wanted(s)
	if reflect.DeepEqual(old, wanted) {
		return d.change, nil
	}
	var err error
	if d.client.format == tomlFormat {
		d.after, err = putTOML(d.text, append(d.table, s.Name), d.client.entry(s), present)
	} else {
		d.after, err = putJSON(d.text, d.table, s.Name, d.client.entry(s))
	}
	return d.proved(s.Name, wanted, err)
}

func (d *draft) cut(name string) (*Change, error) {
	old, present := tableOf(d.client, d.root)[name]
	if !present {
		return d.change, nil
	}
	raw, _ := old.(map[string]any)
	if e := d.client.understand(name, raw); !e.ours("") {
		return nil, fmt.Errorf("the server called %s in %s is another program's: it stays", name, d.change.Path)
	}
	var err error
	if d.client.format == tomlFormat {
		d.after, err = cutTOML(d.text, append(d.table, name))
	} else {
		d.after, err = cutJSON(d.text, d.table, name)
	}
	return d.proved(name, nil, err)
}

// wanted is an entry as its file reads.
func (c *Client) wanted(s Server) any {
	root, err := c.decode([]byte(c.Lines(s)))
	if err != nil {
		return nil // and so no file is proved
	}
	return tableOf(c, root)[s.Name]
}

// proved returns the change if the edited file says what it said before, but for
// the entry, which is as wanted; nil: it is gone.
func (d *draft) proved(name string, wanted any, err error) (*Change, error) {
	if wrong, ok := errors.AsType[*SyntaxError](err); ok {
		wrong.Path = d.change.Path
	}
	if err == nil {
		root, parsed := d.client.decode(d.after)
		if parsed != nil || !reflect.DeepEqual(d.take(root, name), wanted) || !reflect.DeepEqual(root, d.rest(name)) {
			err = errByHand
		}
	}
	if err != nil {
		return nil, fmt.Errorf("edit the server %s of %s: %w", name, d.change.Path, err)
	}
	d.change.after = append(slices.Clip(d.mark), d.after...)
	return d.change, nil
}

// rest is what the file says besides an entry.
func (d *draft) rest(name string) map[string]any {
	d.take(d.root, name)
	return d.root
}

// take takes an entry out of what a file says, and tables that are empty then:
// these may be made for an entry, and stay when it goes.
func (d *draft) take(root map[string]any, name string) any {
	path := append(slices.Clip(d.table), name)
	tables := []map[string]any{root}
	for _, key := range path[:len(path)-1] {
		next, _ := tables[len(tables)-1][key].(map[string]any)
		tables = append(tables, next)
	}
	entry := tables[len(tables)-1][name]
	delete(tables[len(tables)-1], name)
	for i := len(d.table); i > 0; i-- {
		if tables[i] != nil && len(tables[i]) == 0 {
			delete(tables[i-1], path[i-1])
		}
	}
	return entry
}

// Write makes the change and returns where the file as it was is kept, "" if
// there was none. Whoever reads the file has the old one or the new one, whole. A
// private one holds a secret: from then on its owner alone may read it.
func (ch *Change) Write(private bool, now time.Time) (backup string, err error) {
	mode := ch.mode
	if private {
		mode &= 0o700
	}
	if err := os.MkdirAll(filepath.Dir(ch.Path), 0o700); err != nil {
		return "", fmt.Errorf("make the folder of %s: %w", ch.Path, err)
	}
	if ch.exists {
		text, err := os.ReadFile(ch.Path)
		if err != nil || !bytes.Equal(text, ch.before) {
			return "", fmt.Errorf("%s was changed by somebody else just now: nothing was written; try again", ch.Path)
		}
		if backup, err = keep(ch.Path, text, ch.mode&0o700, now); err != nil {
			return "", fmt.Errorf("keep %s as it was: %w; nothing was written", ch.Path, err)
		}
	}
	if err := replace(ch.Path, ch.after, mode); err != nil {
		return "", fmt.Errorf("write %s: %w", ch.Path, err)
	}
	return backup, nil
}
