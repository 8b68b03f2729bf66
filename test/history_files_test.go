package test

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A trace is what a file was before and must be after.
type trace struct {
	Hash  [sha256.Size]byte
	Mtime int64
	Mode  os.FileMode
}

// traces are those of all files and folders of a profile.
func (p *profile) traces() map[string]trace {
	p.t.Helper()
	m := map[string]trace{}
	err := filepath.WalkDir(p.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		t := trace{Mtime: info.ModTime().UnixNano(), Mode: info.Mode()}
		if !d.IsDir() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			t.Hash = sha256.Sum256(b)
		}
		m[path] = t
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return m
}

// TestHistoryTouchesNothing reads with each tool, and looks at the files, and at
// all that the program asked of the system.
func TestHistoryTouchesNothing(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"in use", "closed", "left by a crash"} {
		t.Run(state, func(t *testing.T) {
			p := newProfile(t)
			switch state {
			case "closed":
				p.writer.Close()
			case "left by a crash":
				p.writer.Kill()
			}
			before := p.traces()
			cmd := command(t, "history")
			cmd.Env = append(cmd.Env, p.bySettings()...)
			calls := straced(t, cmd)
			s := connectHistory(t, &mcp.CommandTransport{Command: cmd}, "")
			p.tellHistory(s)
			_ = s.Close() // waits for its end
			if diff := cmp.Diff(before, p.traces()); diff != "" {
				t.Errorf("the files are not as they were:\n%s", diff)
			}
			if calls != "" {
				p.wantReading(calls)
			}
		})
	}
}

// straced has cmd run under strace, where there is one that works, and returns
// the folder where that writes a file for each thread.
func straced(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil || exec.Command(strace, "-o", os.DevNull, "true").Run() != nil {
		t.Log("there is no strace that works here: what was asked of the system is not looked at")
		return ""
	}
	dir := t.TempDir()
	cmd.Path, cmd.Args = strace, append([]string{strace, "-ff", "-y", "-o", filepath.Join(dir, "thread"), "-e", "trace=%file,%desc"}, cmd.Args...)
	return dir
}

var (
	// harmless are the calls that change no file, whatever their arguments.
	harmless = regexp.MustCompile(`^(read|pread64|readv|preadv|lseek|close|getdents64|stat|fstat|lstat|newfstatat|statx|access|faccessat|faccessat2|readlink|readlinkat|epoll_ctl|fadvise64|statfs|fstatfs|poll|ioctl)\b`)
	opens    = regexp.MustCompile(`^openat2?\(.*\bO_RDONLY\b`)
	writes   = regexp.MustCompile(`\bO_(WRONLY|RDWR|CREAT|TRUNC|TMPFILE|APPEND)\b`)
	asks     = regexp.MustCompile(`^fcntl\(.*, F_(GETFL|GETFD|SETFL|SETFD|DUPFD_CLOEXEC)\b`)
	mapped   = regexp.MustCompile(`^mmap\(`)
)

// onlyReads reports whether a call does no more to a file than read.
func onlyReads(call string) bool {
	switch {
	case opens.MatchString(call):
		return !writes.MatchString(call)
	case mapped.MatchString(call):
		return !strings.Contains(call, "MAP_SHARED")
	default:
		return harmless.MatchString(call) || asks.MatchString(call)
	}
}

// TestTraceShowsWrites says what TestHistoryTouchesNothing would find.
func TestTraceShowsWrites(t *testing.T) {
	for call, want := range map[string]bool{
		`openat(5</p/sql>, "db.sqlite", O_RDONLY|O_NOFOLLOW|O_CLOEXEC) = 6</p/sql/db.sqlite>`:          true,
		`pread64(6</p/sql/db.sqlite>, "..."..., 4096, 0) = 4096`:                                       true,
		`fcntl(6</p/sql/db.sqlite>, F_GETFL) = 0x8000 (flags O_RDONLY|O_LARGEFILE)`:                    true,
		`mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 6</p/sql/db.sqlite>, 0) = 0x7f`:                      true,
		`openat(5</p/sql>, "db.sqlite-shm", O_RDWR|O_CREAT|O_CLOEXEC, 0644) = 7</p/sql/db.sqlite-shm>`: false,
		`openat(5</p/sql>, "x", O_RDONLY|O_CREAT, 0644) = 7</p/sql/x>`:                                 false,
		`fcntl(6</p/sql/db.sqlite>, F_SETLK, {l_type=F_RDLCK}) = 0`:                                    false,
		`fcntl(6</p/sql/db.sqlite>, F_OFD_SETLK, {l_type=F_RDLCK}) = 0`:                                false,
		`mmap(NULL, 4096, PROT_READ, MAP_SHARED, 6</p/sql/db.sqlite-shm>, 0) = 0x7f`:                   false,
		`pwrite64(6</p/sql/db.sqlite>, "..."..., 4096, 0) = 4096`:                                      false,
		`unlinkat(5</p/sql>, "db.sqlite-wal", 0) = 0`:                                                  false,
		`utimensat(6</p/sql/db.sqlite>, NULL, NULL, 0) = 0`:                                            false,
	} {
		if got := onlyReads(call); got != want {
			t.Errorf("%s: only reads %t", call, got)
		}
	}
}

// wantReading looks through what strace has written for any call that does more
// to a file of the profile than read.
func (p *profile) wantReading(dir string) {
	p.t.Helper()
	threads, err := filepath.Glob(filepath.Join(dir, "thread.*"))
	if err != nil {
		p.t.Fatal(err)
	}
	opened := 0
	for _, path := range threads {
		b, err := os.ReadFile(path)
		if err != nil {
			p.t.Fatal(err)
		}
		for call := range strings.Lines(string(b)) {
			switch {
			case !strings.Contains(call, p.dir), strings.HasPrefix(call, "execve("):
			case !onlyReads(call):
				p.t.Errorf("asked of the system: %s", call)
			case opens.MatchString(call):
				opened++
			}
		}
	}
	if opened == 0 {
		p.t.Error("strace has not seen the database opened")
	}
}
