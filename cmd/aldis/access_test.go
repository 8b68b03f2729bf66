package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aldis/internal/gate"
	"aldis/internal/hub"
	"aldis/internal/relay"
	"aldis/internal/signal"
	"aldis/internal/store"
)

const (
	operator     = hub.SenderID("+15550001")
	operatorUUID = hub.SenderID("a11ce000-0000-4000-8000-000000000101")
	bob          = hub.SenderID("+15550002")
	bobUUID      = hub.SenderID("b0b00000-0000-4000-8000-000000000102")
	bobsFile     = `{"policy":"allowlist","people":[{"platform":"signal","id":"+15550002"}]}`
)

// A house is a gate that goes by a file in a state folder.
type house struct {
	*accessFile
	t   *testing.T
	log *bytes.Buffer
}

// newHouse makes one with that file; none if it is empty.
func newHouse(t *testing.T, file string) *house {
	t.Helper()
	dir, err := store.OpenDir(t.TempDir(), store.Holder{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	h := &house{t: t, log: &bytes.Buffer{}}
	if file != "" {
		if err := dir.WriteFile(accessName, []byte(file)); err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.NewTextHandler(h.log, nil))
	r := &relay.Relay{Gate: &gate.Gate{}, Platforms: []hub.Platform{&signal.Client{Account: string(operator)}}, Log: log}
	r.Gate.Operate(signal.ID, operator)
	r.Gate.Warn = func(_ hub.PlatformID, id hub.SenderID) { log.Warn("moved", "sender", masked(id)) }
	h.accessFile = newAccessFile(dir, r, log)
	return h
}

// hears reports whether what somebody writes is heard.
func (h *house) hears(number, uuid hub.SenderID) gate.Admission {
	from := hub.Sender{ID: number, Lasting: uuid, Aliases: []hub.SenderID{uuid}}
	_, answer := h.gate.Admit(hub.Message{Ref: hub.Ref{Platform: signal.ID, Chat: hub.ChatID(number)}, From: from, Kind: hub.Text, Text: "hi", Time: time.Now()}, false)
	return answer
}

// edit writes the file as an editor does.
func (h *house) edit(file string) {
	h.t.Helper()
	if err := os.WriteFile(h.dir.Path(accessName), []byte(file), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) file() string {
	h.t.Helper()
	b, err := os.ReadFile(h.dir.Path(accessName))
	if err != nil && !os.IsNotExist(err) {
		h.t.Fatal(err)
	}
	return string(b)
}

// saved reads the file.
func (h *house) saved() gate.Access {
	h.t.Helper()
	a, err := gate.ParseAccess([]byte(h.file()))
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

func TestNoFileUntilThereIsSomethingToKeep(t *testing.T) {
	h := newHouse(t, "")
	if got := h.hears(bob, bobUUID); got != gate.Stranger {
		t.Errorf("a stranger: %s", got)
	}
	h.save()
	if h.file() != "" {
		t.Errorf("there is a file:\n%s", h.file())
	}
	h.hears(operator, operatorUUID)
	h.save()
	if b := h.saved().Bindings; len(b) != 1 || b[0].ID != operator || b[0].Lasting != operatorUUID {
		t.Errorf("bindings %+v", b)
	}
	info, err := os.Stat(h.dir.Path(accessName))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestBrokenFileClosesTheDoorAndStaysAsItIs(t *testing.T) {
	for _, broken := range []string{
		"", "{", `{"policy":"open"}`, `{"policy":"allowlist","people":[{"platform":"signal","id":"Bob"}]}`,
		`{"policy":"allowlist","people":[{"platform":"signal","id":"group:AAAA"}]}`, `{"policy":"allowlist","policy":"disabled"}`,
	} {
		t.Run(broken, func(t *testing.T) {
			h := newHouse(t, bobsFile)
			h.edit(broken)
			for range 3 {
				h.look()
			}
			if got := h.hears(bob, bobUUID); got != gate.DoorClosed {
				t.Errorf("who was let in: %s", got)
			}
			if got := h.hears(operator, operatorUUID); got != gate.Admitted {
				t.Errorf("the operator: %s", got)
			}
			h.save()
			err := h.change(func(a *gate.Access) error { return a.SetPolicy(gate.PolicyPairing) })
			if hub.KindOf(err) != hub.Conflict || !strings.Contains(err.Error(), "mend") {
				t.Errorf("a change: %v", err)
			}
			if h.file() != broken {
				t.Errorf("the file is now %q", h.file())
			}
			if n := strings.Count(h.log.String(), "level=ERROR"); n != 1 || strings.Contains(h.log.String(), "15550002") {
				t.Errorf("%d errors, want 1, and no number:\n%s", n, h.log)
			}
			if s := h.status(); s.Trouble == "" || s.Policy != "" {
				t.Errorf("status %+v", s)
			}
			h.edit(bobsFile)
			h.look()
			if got := h.hears(bob, bobUUID); got != gate.Admitted || h.status().Trouble != "" {
				t.Errorf("mended: %s, %+v", got, h.status())
			}
		})
	}
}

func TestBrokenFileAtTheStart(t *testing.T) {
	h := newHouse(t, "{")
	if h.hears(bob, bobUUID) != gate.DoorClosed || h.hears(operator, operatorUUID) != gate.Admitted {
		t.Error("the door is not closed to all but the operator")
	}
}

func TestFileIsPeoplesToo(t *testing.T) {
	h := newHouse(t, "")
	for _, s := range []struct {
		why, file string
		want      gate.Admission
	}{
		{"let in by hand", bobsFile, gate.Admitted},
		{"by UUID, in capitals", strings.Replace(bobsFile, string(bob), strings.ToUpper(string(bobUUID)), 1), gate.Admitted},
		{"shut out by hand", `{"policy":"allowlist"}`, gate.Stranger},
		{"all shut out", strings.Replace(bobsFile, "allowlist", "disabled", 1), gate.Disabled},
	} {
		h.edit(s.file)
		h.look()
		if got := h.hears(bob, bobUUID); got != s.want {
			t.Errorf("%s: %s, want %s", s.why, got, s.want)
		}
	}
	if strings.Contains(h.log.String(), "ERROR") {
		t.Errorf("log:\n%s", h.log)
	}
}

// TestEditorThatTakesTheFileAway: for a moment there is none, which is no time
// to let in whom the file shuts out.
func TestEditorThatTakesTheFileAway(t *testing.T) {
	h := newHouse(t, `{"policy":"disabled"}`)
	h.gate.Trust(signal.ID, bob)
	if err := os.Remove(h.dir.Path(accessName)); err != nil {
		t.Fatal(err)
	}
	h.look()
	if got := h.hears(bob, bobUUID); got != gate.Disabled {
		t.Errorf("in that moment: %s", got)
	}
	h.look()
	if got := h.hears(bob, bobUUID); got != gate.Admitted || !strings.Contains(h.log.String(), "gone") {
		t.Errorf("when it stays away: %s\n%s", got, h.log)
	}
}

func TestLooseFileIsTightened(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are of no meaning there")
	}
	h := newHouse(t, bobsFile)
	if err := os.Chmod(h.dir.Path(accessName), 0o644); err != nil {
		t.Fatal(err)
	}
	h.look()
	h.look()
	info, err := os.Stat(h.dir.Path(accessName))
	if err != nil || info.Mode().Perm() != 0o600 || strings.Count(h.log.String(), "WARN") != 1 {
		t.Errorf("mode %v, %v; log:\n%s", info.Mode(), err, h.log)
	}
}

func TestMovedNumberIsToldMaskedInTheLog(t *testing.T) {
	h := newHouse(t, bobsFile)
	h.hears(bob, bobUUID)
	h.hears(bob, operatorUUID)
	h.save()
	again := newAccessFile(h.dir, h.relay, h.accessFile.log) // a restart
	if m := again.status().Moved; len(m) != 1 || m[0].ID != bob {
		t.Errorf("moved %+v", m)
	}
	if log := h.log.String(); strings.Count(log, "sender=…02") != 2 || strings.Contains(log, "1555") {
		t.Errorf("log:\n%s", log)
	}
}

// TestManyChangesAtOnce: what commands change and what the gate finds out in
// the middle of it all gets into the file.
func TestManyChangesAtOnce(t *testing.T) {
	h := newHouse(t, bobsFile)
	id := func(i int) hub.SenderID { return hub.SenderID(fmt.Sprintf("+155501%02d", i)) }
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := h.change(func(a *gate.Access) error { return a.Allow(gate.Person{Platform: signal.ID, ID: id(i)}) }); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() { h.hears(id(i), hub.SenderID(fmt.Sprint("uuid-", i))) })
		all.Go(h.look)
	}
	all.Wait()
	for i := range 20 {
		if got := h.hears(id(i), hub.SenderID(fmt.Sprint("uuid-", i))); got != gate.Admitted {
			t.Errorf("%d: %s", i, got)
		}
	}
	h.save()
	a := h.saved()
	if len(a.People) != 21 || len(a.Bindings) != 20 || len(h.gate.Unsaved()) != 0 {
		t.Errorf("%d people, %d bindings, %d unsaved", len(a.People), len(a.Bindings), len(h.gate.Unsaved()))
	}
	slices.SortFunc(a.Bindings, func(x, y gate.Binding) int { return strings.Compare(string(x.ID), string(y.ID)) })
	for i, b := range a.Bindings {
		if b.ID != id(i) || b.Lasting != hub.SenderID(fmt.Sprint("uuid-", i)) {
			t.Errorf("binding %d is %+v", i, b)
		}
	}
}
