package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"aldis/internal/gate"
	"aldis/internal/hub"
	"aldis/internal/relay"
	"aldis/internal/store"
)

const (
	accessName  = "access.json" // in the state folder
	accessEvery = time.Second   // between looks at whether it has changed
	changeTries = 3             // of a change, while others change the file
)

// An accessFile keeps the hub's gate and access.json the same. The file is
// people's too: it is read again when it has changed, and one that can't be
// read closes the door and is left as it is.
type accessFile struct {
	dir   *store.Dir
	relay *relay.Relay
	gate  *gate.Gate
	log   *slog.Logger
	wake  chan struct{} // the gate has found something out

	// turn is held by whoever reads and changes the file. The gate is told the
	// result; a message never waits for it.
	turn sync.Mutex

	// guarded by turn
	last  []byte // of the file, as last read or written; nil: there is none
	gone  bool   // it was not there when last looked for, for the first time
	loose bool   // others could read it

	unsaved error // owned by run; why what the gate has found out could not be written

	mu      sync.Mutex
	trouble error // guarded by mu; why the door is closed
}

// newAccessFile has the gate of r, which has its platforms, go by the file.
func newAccessFile(dir *store.Dir, r *relay.Relay, log *slog.Logger) *accessFile {
	f := &accessFile{dir: dir, relay: r, gate: r.Gate, log: log, wake: make(chan struct{}, 1)}
	f.gate.NewCode = newPairingCode
	f.gate.Nudge = func() {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
	f.look()
	for _, b := range f.gate.Moved() {
		f.gate.Warn(b.Platform, b.ID)
	}
	return f
}

// run reads what people change and writes what the gate finds out, until ctx
// is done.
func (f *accessFile) run(ctx context.Context) error {
	tick := time.NewTicker(accessEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			f.save()
			return nil
		case <-tick.C:
			f.look()
		case <-f.wake:
		}
		f.save()
	}
}

// look reads the file if it has changed. One that is gone has to be gone twice:
// some editors take the old one away before the new one is there.
func (f *accessFile) look() {
	f.turn.Lock()
	defer f.turn.Unlock()
	_, err := os.Stat(f.dir.Path(accessName))
	f.gone = errors.Is(err, fs.ErrNotExist) && f.last != nil && !f.gone
	if !f.gone {
		_, _ = f.refresh() // the gate knows what is wrong, and so does the log
	}
}

// refresh reads the file, and tells the gate if it has changed. f.turn is held.
func (f *accessFile) refresh() (gate.Access, error) {
	b, err := f.read()
	a, err := f.parse(b, err)
	if err == nil && f.wrong() == nil && bytes.Equal(b, f.last) && (b == nil) == (f.last == nil) {
		return a, nil
	}
	if err == nil && b == nil && f.last != nil {
		f.log.Warn("access.json is gone: the settings alone say who may come in")
	}
	f.last = b
	f.closeOr(a, err)
	return a, err
}

// closeOr makes a count, or closes the door where it could not be read.
func (f *accessFile) closeOr(a gate.Access, err error) {
	f.mu.Lock()
	before := f.trouble
	f.trouble = err
	f.mu.Unlock()
	switch {
	case err == nil:
		f.gate.Install(a, 0)
		if before != nil {
			f.log.Info("access.json is mended, and the door open again")
		}
	case before == nil || before.Error() != err.Error():
		f.gate.Close()
		f.log.Error("the door is closed to all but the operator", "err", err)
	}
}

// save writes what the gate has found out. What can't be written waits.
func (f *accessFile) save() {
	if len(f.gate.Unsaved()) == 0 || f.wrong() != nil {
		return
	}
	err := f.change(func(*gate.Access) error { return nil })
	if hub.KindOf(err) == hub.Conflict { // the file broke in this moment, and the log says so
		return
	}
	if err != nil && (f.unsaved == nil || f.unsaved.Error() != err.Error()) {
		f.log.Error("write what was found out about who comes in", "err", err)
	}
	f.unsaved = err
}

// change makes a change to the file as it is now, and to the gate. It fails
// with Conflict, and changes nothing, while the file can't be read.
func (f *accessFile) change(do func(*gate.Access) error) error {
	f.turn.Lock()
	defer f.turn.Unlock()
	for range changeTries {
		if lost, err := f.changeOnce(do); !lost {
			return err
		}
	}
	return hub.Errorf(hub.Conflict, "access.json is being changed by somebody else: try again")
}

// changeOnce reports whether the change was lost, since the file was changed by
// hand in this moment. f.turn is held.
func (f *accessFile) changeOnce(do func(*gate.Access) error) (lost bool, err error) {
	a, err := f.refresh()
	if err != nil {
		return false, hub.Errorf(hub.Conflict, "%s; mend the file by hand first", err.Error())
	}
	found := f.gate.Unsaved()
	for _, c := range found {
		c(&a)
	}
	a.Prune(time.Now())
	if err := do(&a); err != nil {
		return false, err
	}
	b, err := a.Marshal()
	if err != nil {
		return false, fmt.Errorf("encode access.json: %w", err)
	}
	if err := f.dir.ReplaceFile(accessName, f.last, b); err != nil {
		return hub.KindOf(err) == hub.Conflict, err
	}
	f.last = b
	f.gate.Install(a, len(found))
	return false, nil
}

// read returns what the file holds, nil if there is none, and keeps it to its
// owner.
func (f *accessFile) read() ([]byte, error) {
	file, err := os.Open(f.dir.Path(accessName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	f.tighten(file)
	return io.ReadAll(io.LimitReader(file, gate.MaxAccessBytes+1))
}

// tighten takes from others the right to read and write the file.
func (f *accessFile) tighten(file *os.File) {
	info, err := file.Stat()
	loose := err == nil && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows"
	if loose && !f.loose {
		f.log.Warn("access.json was open to others than its owner, and no longer is", "mode", info.Mode().String(), "err", file.Chmod(0o600))
	}
	f.loose = loose
}

// parse reads what read has returned. Without a file the settings say it all.
func (f *accessFile) parse(b []byte, err error) (gate.Access, error) {
	if b == nil && err == nil {
		return gate.Access{Policy: gate.PolicyAllowlist}, nil
	}
	var a gate.Access
	if err == nil {
		a, err = gate.ParseAccess(b)
	}
	if err == nil {
		a, err = a.Spelled(f.spell)
	}
	if err != nil {
		return a, hub.Errorf(hub.Invalid, "%s can't be used: %w", f.dir.Path(accessName), err)
	}
	return a, nil
}

// spell spells an id of the file as its platform does. What is of a platform
// that is not joined stays as it is.
func (f *accessFile) spell(p hub.PlatformID, id string, group bool) (hub.ChatID, error) {
	for _, x := range f.relay.Platforms {
		if x.ID() == p {
			chat, err := x.Chat(id)
			if err == nil && isGroup(chat) != group {
				err = hub.Errorf(hub.Invalid, "a group and a person are not the same")
			}
			return chat, err
		}
	}
	return hub.ChatID(id), nil
}

// isGroup reports whether a chat is a group: every platform spells those so.
func isGroup(chat hub.ChatID) bool { return strings.HasPrefix(string(chat), "group:") }

// wrong returns why the door is closed; nil: it is not.
func (f *accessFile) wrong() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.trouble
}
