package sqlcipher_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hubtest/signaldesktop"
)

// childReads names the database that a child process of a test is to read.
const childReads = "ALDIS_TEST_CHILD_READS"

// TestChild is no test: it is the process of its own that others start.
func TestChild(t *testing.T) {
	path := os.Getenv(childReads)
	if path == "" {
		t.Skip("run by other tests")
	}
	tables, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(tables)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%s%s%s", childReads, b, childReads)
}

// child is a process that reads the database at path. The program is named by
// its inode, as nobody may walk to it.
func child(path string, wrapped ...string) *exec.Cmd {
	args := append(wrapped, "/proc/self/exe", "-test.run=^TestChild$")
	if len(wrapped) > 0 {
		args[len(wrapped)] = os.Args[0]
	}
	c := exec.Command(args[0], args[1:]...)
	c.Env = append(os.Environ(), childReads+"="+path)
	return c
}

// childRead returns what the child read.
func childRead(t *testing.T, c *exec.Cmd) (tables map[string]string) {
	t.Helper()
	out, err := c.CombinedOutput()
	parts := strings.Split(string(out), childReads)
	if err != nil || len(parts) != 3 {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := json.Unmarshal([]byte(parts[1]), &tables); err != nil {
		t.Fatal(err)
	}
	return tables
}

// leftovers is a database whose writer died, in a folder that all may walk to.
func leftovers(t *testing.T) (d desktop, want map[string]string) {
	dir, err := os.MkdirTemp("", "aldis-sqlcipher-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d = newDesktop(t, signaldesktop.Options{Schema: 1830, Messages: 50})
	d.write()
	want = d.Dump()
	d.Kill()
	if err := os.CopyFS(dir, os.DirFS(d.dir)); err != nil {
		t.Fatal(err)
	}
	d.dir, d.path = dir, signaldesktop.Path(dir)
	return d, want
}

func TestAnotherUserReadsWhatNobodyMayWrite(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may become another user")
	}
	d, want := leftovers(t)
	for _, file := range []string{"", "-wal", "-shm"} {
		if err := os.Chmod(d.path+file, 0o444); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{filepath.Dir(d.path), d.dir} {
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	before := trace(t, d.dir)
	c := child(d.path)
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if diff := cmp.Diff(want, childRead(t, c)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, trace(t, d.dir)); diff != "" {
		t.Errorf("reading left a trace: %s", diff)
	}
}

func TestTheSystemIsAskedForReadingAlone(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	log := filepath.Join(t.TempDir(), "calls")
	if err := exec.Command("strace", "-o", log, "true").Run(); err != nil {
		t.Skipf("strace may not trace here: %v", err)
	}
	d, want := leftovers(t)
	if diff := cmp.Diff(want, childRead(t, child(d.path, "strace", "-f", "-s", "0", "-o", log, "-e", "trace=%file,%desc"))); diff != "" {
		t.Error(diff)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	opened := 0
	for call := range strings.Lines(string(b)) {
		if touches(call, d.dir) {
			t.Errorf("it asked for more than reading: %s", call)
		}
		if strings.Contains(call, `"db.sqlite`) && strings.Contains(call, "O_RDONLY") {
			opened++
		}
	}
	if opened < 3 {
		t.Errorf("the files were opened %d times: this proves nothing", opened)
	}
}

var (
	called  = regexp.MustCompile(`^\d+ +(\w+)\(`)
	writing = regexp.MustCompile(`O_RDWR|O_WRONLY|O_CREAT|O_TRUNC|O_APPEND`)
	locking = regexp.MustCompile(`F_\w*LK|F_SETLEASE`)
	shared  = regexp.MustCompile(`MAP_SHARED.*, \d+, `) // of a file: without one it is -1
)

// touches reports whether a call, as strace writes it, does more than read.
func touches(call, dir string) bool {
	name := called.FindStringSubmatch(call)
	if name == nil {
		return false // the rest of a call, or a signal
	}
	ours := strings.Contains(call, dir) || strings.Contains(call, `"db.sqlite`)
	switch name[1] {
	case "open", "openat", "openat2":
		return ours && writing.MatchString(call)
	case "fcntl", "fcntl64":
		return locking.MatchString(call)
	case "mmap", "mmap2":
		return shared.MatchString(call)
	case "flock", "ftruncate", "fallocate", "pwrite64", "pwritev", "pwritev2", "fchmod", "fchown":
		return true
	case "stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat":
		return false
	default: // unlink, rename, mkdir, chmod, utimensat and their like
		return ours
	}
}

func TestTouches(t *testing.T) {
	for call, want := range map[string]bool{
		`1 openat(AT_FDCWD, "/d", O_RDONLY|O_CLOEXEC) = 3`:                            false,
		`1 openat(3, "db.sqlite", O_RDONLY|O_NOFOLLOW|O_CLOEXEC) = 4`:                 false,
		`1 openat(3, "db.sqlite-shm", O_RDWR|O_CREAT|O_CLOEXEC, 0644) = 4`:            true,
		`1 fcntl(4, F_SETFL, O_RDONLY) = 0`:                                           false,
		`1 fcntl(4, F_SETLK, {l_type=F_RDLCK, l_whence=SEEK_SET, l_start=1}) = 0`:     true,
		`1 fcntl(4, F_OFD_GETLK, {l_type=F_RDLCK, l_whence=SEEK_SET, l_start=1}) = 0`: true,
		`1 mmap(NULL, 32768, PROT_READ, MAP_SHARED, 5, 0) = 0x7f`:                     true,
		`1 mmap(NULL, 32768, PROT_READ, MAP_SHARED|MAP_ANONYMOUS, -1, 0) = 0x7f`:      false,
		`1 newfstatat(3, "db.sqlite", {st_mode=S_IFREG|0600}, 0) = 0`:                 false,
		`1 unlinkat(3, "db.sqlite-wal", 0) = 0`:                                       true,
		`1 utimensat(AT_FDCWD, "/d/x", NULL, 0) = 0`:                                  true,
		`1 write(1, ""..., 70) = 70`:                                                  false,
	} {
		if got := touches(call, "/d"); got != want {
			t.Errorf("%s: %v, want %v", call, got, want)
		}
	}
}
