package test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"aldis/internal/hubtest"
)

// TestFullDisk fills the disk that the record is on. What scripts post is
// refused, what people write is delivered all the same, and the operator is
// told once.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d, "--trusted-sender", bob, "--db", filepath.Join(disk, "aldis.db"))
	a := h.connect("deploy-bot")
	h.notify("cron", "deploy-bot", "while there is room")
	a.await(1)
	empty := fill(t, disk)

	message := map[string]any{"content": "no room", "target": "deploy-bot"}
	eventually(t, "the disk is full for the hub too", func() bool {
		return h.do(http.MethodPost, "/notify?label=cron", message, bearer(token)).status == http.StatusServiceUnavailable
	})
	before := len(a.got())
	receive(t, d, capture("dm"))
	receive(t, d, capture("dm")) // doubled: it is still delivered once
	receive(t, d, noteToSelf("sync_note_to_self", "", nil))
	got := contents(a.await(before + 2)[before:])
	if want := []string{"Can you check the build? 👩🏽‍💻", "Remind me to deploy"}; !slices.Equal(got, want) {
		t.Errorf("the agent has %q, want %q", got, want)
	}
	h.awaitStatus("/readyz", http.StatusServiceUnavailable)
	if reason := h.do(http.MethodGet, "/readyz", nil, nil).body; !strings.Contains(reason, "record") {
		t.Errorf("/readyz says %q", reason)
	}
	a.call("send", map[string]any{"text": "an agent can still write"})
	awaitRequests(t, d, "send", 2)
	if n := notices(d); n != 1 {
		t.Errorf("the operator was told %d times, want once", n)
	}

	empty()
	h.awaitReady()
	h.notify("cron", "deploy-bot", "room again")
	a.await(before + 3)
	h.kill()
	h.start() // what was delivered from memory is in the record by now, as delivered
	h.awaitReady()
	h.notify("cron", "deploy-bot", "after all")
	want := []string{"Can you check the build? 👩🏽‍💻", "Remind me to deploy", "room again", "after all"}
	if got := contents(a.await(before + 4)[before:]); !slices.Equal(got, want) {
		t.Errorf("the agent has %q, want %q", got, want)
	}
	if n := notices(d); n != 1 {
		t.Errorf("the operator was told %d times, want once", n)
	}
}

// TestFullDiskForTheMessageLog fills the disk of the log of messages alone: what
// it can't take is counted, and nothing else suffers.
func TestFullDiskForTheMessageLog(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	path := filepath.Join(disk, "messages.jsonl")
	h := startHub(t, "--jsonl-log", path)
	a := h.connect("deploy-bot")
	empty := fill(t, disk)
	for range 50 { // more than the last page of the file takes
		h.notify("cron", "deploy-bot", strings.Repeat("x", 1000))
	}
	a.await(50)
	h.awaitReady()
	if strings.Contains(h.metrics(), "\naldis_jsonl_dropped_total 0\n") {
		t.Error("no line counts as lost")
	}
	empty()
	id := h.notify("cron", "deploy-bot", "room again")
	eventually(t, "the log goes on", func() bool {
		b, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(b), id)
	})
	if code := h.stop(); code != 0 {
		t.Errorf("the hub ends with %d", code)
	}
}

// notices counts what the operator was told of the record.
func notices(d *hubtest.Daemon) (n int) {
	for _, r := range d.Requests("send") {
		if text, _ := r.Params["message"].(string); strings.Contains(text, "cannot write its record") {
			n++
		}
	}
	return n
}

// smallDisk returns the folder of a file system of its own.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("a small disk cannot be made here (that takes root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// fill writes until there is no room, and returns what makes room again.
func fill(t *testing.T, disk string) (empty func()) {
	t.Helper()
	f, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(f.Name()); err != nil {
			t.Fatal(err)
		}
	}
}
