package signal

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aldis/internal/hub"
	"aldis/internal/hubtest"
)

// TestFilesOut: one test for each way of getting a file out that does not lie
// in a root.
func TestFilesOut(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "root")
	write(t, filepath.Join(base, "secret"), "secret")
	write(t, filepath.Join(root, "a.txt"), "hello")
	write(t, filepath.Join(root, "sub", "b.txt"), "hello")
	write(t, filepath.Join(base, "root-not", "c.txt"), "hello")
	link(t, filepath.Join(base, "secret"), filepath.Join(root, "out.txt"))
	link(t, base, filepath.Join(root, "outdir"))
	link(t, "a.txt", filepath.Join(root, "in.txt"))
	link(t, root, filepath.Join(base, "alias"))
	tests := []struct {
		name, path string
		kind       hub.Kind // empty: it is sent
	}{
		{"a file", filepath.Join(root, "a.txt"), ""},
		{"a file in a folder below", filepath.Join(root, "sub", "b.txt"), ""},
		{"a path that counts from the root", "sub/b.txt", ""},
		{"a link that stays inside", filepath.Join(root, "in.txt"), ""},
		{"down and up again, inside", filepath.Join(root, "sub") + "/../a.txt", ""},
		{"no such file", filepath.Join(root, "no.txt"), hub.NotFound},
		{"an absolute path elsewhere", filepath.Join(base, "secret"), hub.Denied},
		{"a folder whose name begins alike", filepath.Join(base, "root-not", "c.txt"), hub.Denied},
		{"up and out", root + "/../secret", hub.Denied},
		{"up and out, counted from the root", "../secret", hub.Denied},
		{"a link that leads out", filepath.Join(root, "out.txt"), hub.Denied},
		{"through a folder that leads out", filepath.Join(root, "outdir", "secret"), hub.Denied},
		{"a folder", filepath.Join(root, "sub"), hub.Invalid},
		{"the root", root, hub.Invalid},
		{"nothing", "", hub.Denied},
	}
	for _, roots := range [][]string{{root}, {filepath.Join(base, "none"), root}, {filepath.Join(base, "alias")}} {
		c := &Client{Account: aliceNumber, AttachmentRoots: roots, SpoolDir: filepath.Join(base, "spool")}
		c.setup()
		for _, tt := range tests {
			t.Run(filepath.Base(roots[0])+" "+tt.name, func(t *testing.T) {
				if roots[0] == filepath.Join(base, "alias") && strings.HasPrefix(tt.path, root+"/..") {
					t.Skip("another name of the root")
				}
				s, err := c.copyOut([]hub.Attachment{{Path: tt.path}})
				if tt.kind != "" {
					if err == nil || hub.KindOf(err) != tt.kind {
						t.Errorf("got %v, %v; want %s", s.names(), err, tt.kind)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				defer s.remove()
				copied := s.names()[0]
				raw, err := os.ReadFile(copied)
				if err != nil || string(raw) != "hello" || filepath.Base(copied) != filepath.Base(tt.path) || !strings.HasPrefix(copied, c.SpoolDir) {
					t.Errorf("%s holds %q, %v", copied, raw, err)
				}
				wantMode(t, copied, 0o600)
				wantMode(t, filepath.Dir(copied), 0o700)
			})
		}
		if left, err := os.ReadDir(c.SpoolDir); err != nil || len(left) != 0 {
			t.Errorf("%d copies are left, %v", len(left), err)
		}
	}
}

func wantMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != want {
		t.Errorf("%s: %v, %v", path, info.Mode(), err)
	}
}

func TestFileBounds(t *testing.T) {
	root := t.TempDir()
	big := filepath.Join(root, "big.bin")
	write(t, big, "")
	tests := []struct {
		address string
		size    int64
		ok      bool
	}{
		{"unix:/run/s", maxLocalFile + 1, false},
		{"127.0.0.1:7583", maxRemoteFile + 1, true},
		{"signal.example.org:7583", maxRemoteFile + 1, false},
		{"signal.example.org:7583", maxRemoteFile, true},
	}
	for _, tt := range tests {
		if err := os.Truncate(big, tt.size); err != nil {
			t.Fatal(err)
		}
		c := &Client{Account: aliceNumber, Address: tt.address, AttachmentRoots: []string{root}, SpoolDir: filepath.Join(root, "spool")}
		c.setup()
		s, err := c.copyOut([]hub.Attachment{{Path: big}})
		if (err == nil) != tt.ok || err != nil && hub.KindOf(err) != hub.Invalid {
			t.Errorf("%d bytes to %s: %v", tt.size, tt.address, err)
		}
		s.remove()
		if _, err := c.copyOut(make([]hub.Attachment, maxFiles+1)); hub.KindOf(err) != hub.Invalid {
			t.Errorf("too many files: %v", err)
		}
	}
}

// TestDataURI: a daemon on another machine gets the file in the request.
func TestDataURI(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "n o;1.txt"), "hello")
	write(t, filepath.Join(root, "odd"), "hello")
	c := &Client{Account: aliceNumber, Address: "signal.example.org:7583", AttachmentRoots: []string{root}}
	c.setup()
	s, err := c.copyOut([]hub.Attachment{{Path: "n o;1.txt"}, {Path: "odd"}})
	want := []string{"data:text/plain;filename=n%20o%3B1.txt;base64,aGVsbG8=", "data:application/octet-stream;filename=odd;base64,aGVsbG8="}
	if err != nil || !slices.Equal(s.names(), want) {
		t.Errorf("got %q, %v", s.names(), err)
	}
}

// TestCopiesAreTakenAway: after the answer, after a late one, and after a lost
// connection. While an answer may come the daemon may still read them.
func TestCopiesAreTakenAway(t *testing.T) {
	base := t.TempDir()
	write(t, filepath.Join(base, "root", "a.txt"), "hello")
	copies := func() int {
		entries, err := os.ReadDir(filepath.Join(base, "spool"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
		return len(entries)
	}
	send := func(r rig) (hub.Sent, error) {
		return r.c.Send(r.Context(), hub.Message{Kind: hub.Text, Ref: ref(bobNumber, ""), Attachments: []hub.Attachment{{Path: "a.txt"}}})
	}
	run := func(name string, f func(r rig)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.c.AttachmentRoots, r.c.SpoolDir = []string{filepath.Join(base, "root")}, filepath.Join(base, "spool")
				r.run()
				synctest.Wait()
				f(r)
				r.stop()
				r.d.Close()
				if n := copies(); n != 0 {
					t.Errorf("%d copies at the end", n)
				}
			})
		})
	}
	run("after the answer", func(r rig) {
		if _, err := send(r); err != nil || copies() != 0 {
			r.Errorf("%v, %d copies", err, copies())
		}
		sent := r.d.Requests("send")[0].Params["attachments"].([]any)
		if path := sent[0].(string); strings.HasPrefix(path, filepath.Join(base, "root")) || filepath.Base(path) != "a.txt" {
			r.Errorf("the daemon was given %s", path)
		}
	})
	run("after a late answer", func(r rig) {
		release := make(chan struct{})
		r.d.Answer("send", func(hubtest.DaemonRequest) hubtest.DaemonAnswer { return hubtest.DaemonAnswer{Wait: release} })
		before := time.Now()
		if sent, err := send(r); err != nil || !sent.Unknown || copies() != 1 || time.Since(before) != uploadTimes*defaultSendTimeout {
			r.Errorf("after %v: %+v, %v, %d copies", time.Since(before), sent, err, copies())
		}
		close(release)
		synctest.Wait()
	})
	run("after a connection that ends without the answer", func(r rig) {
		r.d.Answer("send", func(hubtest.DaemonRequest) hubtest.DaemonAnswer { return hubtest.DaemonAnswer{Drop: true} })
		if sent, err := send(r); err != nil || !sent.Unknown || copies() != 1 {
			r.Errorf("%+v, %v, %d copies", sent, err, copies())
		}
	})
}

// TestOldCopies: what a killed hub has left goes at the next start; another
// hub's fresh ones stay.
func TestOldCopies(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"aldis-out-old", "aldis-out-new", "other"} {
		write(t, filepath.Join(dir, name, "0", "a.txt"), "hello")
	}
	old := time.Now().Add(-2 * spoolAge)
	for _, name := range []string{"aldis-out-old", "other"} {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	(&Client{SpoolDir: dir}).cleanSpool()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 || entries[0].Name() != "aldis-out-new" || entries[1].Name() != "other" {
		t.Errorf("left: %v, %v", entries, err)
	}
}
