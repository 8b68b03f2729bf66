//go:build unix

package signal

import (
	"path/filepath"
	"syscall"
	"testing"

	"aldis/internal/hub"
)

// TestPipeOut: to open a pipe would wait for its writer.
func TestPipeOut(t *testing.T) {
	root := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600); err != nil {
		t.Skipf("no pipes here: %v", err)
	}
	c := &Client{Account: aliceNumber, AttachmentRoots: []string{root, "/dev"}}
	c.setup()
	for _, path := range []string{"pipe", "/dev/zero"} {
		if _, err := c.copyOut([]hub.Attachment{{Path: path}}); hub.KindOf(err) != hub.Invalid {
			t.Errorf("%s: %v", path, err)
		}
	}
}
