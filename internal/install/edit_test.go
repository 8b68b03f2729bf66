package install

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// world is a machine of its own for a test.
func world(t *testing.T, goos string, env ...string) World {
	t.Helper()
	root := t.TempDir()
	w := World{
		GOOS: goos, Home: filepath.Join(root, "home"), Dir: filepath.Join(root, "project"), Managed: filepath.Join(root, "managed"),
		Getenv: func(name string) string {
			for i := 0; i < len(env); i += 2 {
				if env[i] == name {
					return env[i+1]
				}
			}
			return ""
		},
	}
	for _, dir := range []string{w.Home, w.Dir, w.Managed} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func client(t testing.TB, id string) *Client {
	t.Helper()
	c, err := Find(id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wish is what the tests ask for.
var wish = Wish{
	Name: DefaultName, Command: "/usr/local/bin/aldis", Hub: "http://127.0.0.1:8765", Agent: "deploy-bot",
	Token: Token{Variable: TokenVar},
}

func serverFor(t testing.TB, c *Client, w Wish) Server {
	t.Helper()
	s, err := c.Server(w)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// apply makes a change, which must be needed.
func apply(t *testing.T, ch *Change, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if !ch.Needed() {
		t.Fatal("no change is needed")
	}
	if _, err := ch.Write(false, time.Unix(1796070000, 0)); err != nil {
		t.Fatal(err)
	}
	return read(t, ch.Path)
}

// TestFiles puts an entry into each file of testdata and takes it out again. NAME.in
// is as a client's file may be, NAME.out is with the entry, and NAME.end with
// the entry gone again: there is one only where that is not NAME.in.
func TestFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.in")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, in := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(in, "testdata/"), ".in"), func(t *testing.T) {
			c := client(t, filepath.Base(filepath.Dir(in)))
			before := read(t, in)
			path := filepath.Join(t.TempDir(), "file")
			write(t, path, before)
			w := wish
			w.HTTP = strings.Contains(in, "http")
			if c.local {
				w.Token = Token{File: "/etc/aldis/aldis.env"}
			}
			s := serverFor(t, c, w)

			ch, err := c.Put(path, s)
			golden(t, strings.TrimSuffix(in, ".in")+".out", apply(t, ch, err))
			if ch, err = c.Put(path, s); err != nil || ch.Needed() {
				t.Errorf("put twice: error %v, changes the file: %v", err, ch.Needed())
			}
			ch, err = c.Cut(path, s.Name)
			after := apply(t, ch, err)
			if end := strings.TrimSuffix(in, ".in") + ".end"; exists(end) || *update && after != before {
				golden(t, end, after)
			} else if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("after put and cut (-before +after):\n%s", diff)
			}
			if ch, err = c.Cut(path, s.Name); err != nil || ch.Needed() {
				t.Errorf("cut twice: error %v, changes the file: %v", err, ch.Needed())
			}
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		write(t, path, got)
	}
	if diff := cmp.Diff(read(t, path), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
