package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A form is one of the ways in which a client's page shows an entry.
type form struct {
	name   string
	server Server
}

func docForms(c *Client) (list []form) {
	w := wish
	if c.local {
		w.Token = Token{File: "/home/ann/.config/aldis/aldis.env"}
	}
	s, err := c.Server(w)
	if err == nil {
		list = append(list, form{"stdio", s})
	}
	w.HTTP = true
	if s, err = c.Server(w); err == nil {
		list = append(list, form{"http", s})
	}
	return list
}

// TestDocs holds the page of each client to what install prints.
func TestDocs(t *testing.T) {
	const dir = "../../docs/clients"
	for _, c := range Clients() {
		text, err := os.ReadFile(filepath.Join(dir, c.ID+".md"))
		if err != nil {
			t.Error(err)
			continue
		}
		page := strings.ReplaceAll(string(text), "\r\n", "\n")
		for _, f := range docForms(c) {
			if !strings.Contains(page, c.Lines(f.server)+"```") {
				t.Errorf("%s.md lacks, as %s:\n%s", c.ID, f.name, c.Lines(f.server))
			}
		}
	}
}
