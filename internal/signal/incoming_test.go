package signal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func size(n int64) *int64 { return &n }

// TestAttachmentsIn: an id names a file in signal-cli's own folder, or nothing.
func TestAttachmentsIn(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "attachments")
	write(t, filepath.Join(base, "secret"), "secret")
	write(t, filepath.Join(dir, "a.pdf"), "12345")
	write(t, filepath.Join(dir, "sub", "b.pdf"), "12345")
	link(t, filepath.Join(base, "secret"), filepath.Join(dir, "link.pdf"))
	tests := []struct {
		name, id string
		here     bool
	}{
		{"a file", "a.pdf", true},
		{"no such file", "b.pdf", false},
		{"no id", "", false},
		{"the folder itself", ".", false},
		{"a folder", "sub", false},
		{"in a folder below", "sub/b.pdf", false},
		{"up and out", "../secret", false},
		{"up and out, backwards", `..\secret`, false},
		{"an absolute path", filepath.Join(base, "secret"), false},
		{"a link that leads out", "link.pdf", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := folder(dir).attachments([]attachment{{ID: tt.id, Filename: "x\x00\n", ContentType: "a/b", Size: size(7)}})[0]
			if here := got.Path != ""; here != tt.here {
				t.Fatalf("got %+v", got)
			}
			if tt.here && (got.Path != filepath.Join(dir, tt.id) || got.Size != 5) {
				t.Errorf("got %+v", got)
			}
			if !tt.here && got.Size != 7 || got.Name != "x\n" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestLongText(t *testing.T) {
	dir := t.TempDir()
	whole := strings.Repeat("all of it ", 500)
	write(t, filepath.Join(dir, "long.txt"), whole)
	write(t, filepath.Join(dir, "other.txt"), "something else")
	long := func(id string, n int64) []attachment {
		return []attachment{{ID: "a.png", ContentType: "image/png"}, {ID: id, ContentType: longTextType, Size: size(n)}}
	}
	tests := []struct {
		name, text string
		as         []attachment
		want       string
		files      int
	}{
		{"cut by the daemon: read from the file", whole[:2000], long("long.txt", 5000), whole, 1},
		{"cut within a character", whole[:1999] + "\uFFFD", long("long.txt", 5000), whole, 1},
		{"given whole, as since 0.14", whole, long("gone.txt", 5000), whole, 1},
		{"the file is not here", whole[:2000], long("gone.txt", 5000), whole[:2000], 2},
		{"the file is of another text", whole[:2000], long("other.txt", 5000), whole[:2000], 2},
		{"no long text", "short", long("a", 1)[:1], "short", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, rest := folder(dir).longText(tt.text, tt.as)
			if text != tt.want || len(rest) != tt.files {
				t.Errorf("%d bytes and %d files, want %d and %d", len(text), len(rest), len(tt.want), tt.files)
			}
		})
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}
