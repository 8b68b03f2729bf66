package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"aldis/internal/desktop/key"
	"aldis/internal/gate"
	"aldis/internal/hub"
	"aldis/internal/store"
)

// settings are what aldis serve would start with. The environment is as
// os.Environ returns it.
func (p *prober) settings(environment []string) {
	s := &p.facts.Settings
	s.EnvFile, s.Known, s.Odd = p.EnvFile, p.Known(), p.Odd()
	s.Names, s.Skipped = p.InFile()
	for _, pair := range environment {
		if name, value, _ := strings.Cut(pair, "="); value != "" {
			s.Names = append(s.Names, name)
		}
	}
	for _, err := range p.Wrong() {
		s.Wrong = append(s.Wrong, hub.OneLine(err.Error(), 1024))
	}
	s.Operator, s.Token = p.Operator != "", len(p.Tokens()) > 0
	s.DefaultAgent = string(p.DefaultAgent)
	if info, err := os.Stat(p.EnvFile); err == nil && p.EnvFile != "" {
		s.EnvMode = permissions(info)
	}
}

// folder looks at the state folder and the record.
func (p *prober) folder(ctx context.Context) {
	f := &p.facts.Folder
	f.Path, f.Record, f.Off = p.StateDir, p.DB, p.Record == string(store.KeepOff)
	if f.Path == "" {
		return
	}
	info, err := os.Stat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Missing = true
	case err == nil && !info.IsDir():
		f.Why = f.Path + " is no folder"
	case err != nil:
		f.Why = err.Error()
	default:
		f.Mode, f.Owner, f.Free = permissions(info), owner(info), free(f.Path)
		if err := usable(f.Path); err != nil {
			f.Unusable = err.Error()
		}
		f.Open = p.open()
	}
	if !f.Off {
		p.record(ctx)
	}
}

// open names the files, of those that the hub keeps, that others may read or
// change: their folder lets them through to them.
func (p *prober) open() (open []string) {
	paths := []string{p.DB, p.RoutesFile, p.JSONLLog}
	list, _ := os.ReadDir(p.StateDir)
	for _, entry := range list {
		paths = append(paths, filepath.Join(p.StateDir, entry.Name()))
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		file, err := os.Stat(path)
		folder, folderErr := os.Stat(filepath.Dir(path))
		if err == nil && folderErr == nil && file.Mode().IsRegular() && permissions(file)&0o066 != 0 && permissions(folder)&0o011 != 0 {
			open = append(open, path)
		}
	}
	return open
}

func (p *prober) record(ctx context.Context) {
	f := &p.facts.Folder
	switch err := store.Check(ctx, f.Record); {
	case hub.KindOf(err) == hub.Invalid:
		f.NoRecord = hub.Readable(err)
		return
	case err != nil:
		f.ReadOnly = hub.Readable(err)
		return
	}
	info, err := os.Stat(f.Record)
	if err != nil { // it is still to be made
		if in := filepath.Dir(f.Record); in != f.Path {
			f.ReadOnly = reason(usable(in))
		}
		return
	}
	f.Newest = info.ModTime()
	file, err := os.OpenFile(f.Record, os.O_WRONLY, 0) // nothing is written
	if err == nil {
		err = file.Close()
	}
	f.ReadOnly = reason(err)
}

// reason is what the system says is wrong, without the path.
func reason(err error) string {
	if why, ok := errors.AsType[syscall.Errno](err); ok {
		return why.Error()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// access is as the hub has it, else as the hub would read it.
func (p *prober) access(context.Context) {
	a := &p.facts.Access
	path := filepath.Join(p.StateDir, accessName)
	var bindings []gate.Binding
	if s := p.status; s != nil {
		a.Policy, a.Trouble, bindings = string(s.Access.Policy), s.Access.Trouble, s.Access.Moved
	} else if b, err := os.ReadFile(path); errors.Is(err, fs.ErrNotExist) {
		a.Policy = string(gate.PolicyAllowlist)
	} else {
		var read gate.Access
		if err == nil {
			read, err = gate.ParseAccess(b)
		}
		if err != nil {
			a.Trouble = path + " can't be used: " + err.Error()
		}
		a.Policy, bindings = string(read.Policy), read.Bindings
	}
	for _, b := range bindings {
		if !b.Moved.IsZero() {
			a.Moved = append(a.Moved, masked(b.ID))
		}
	}
}

// history looks for Signal Desktop; for its key only where that is wanted,
// since the system's keyring may ask a person for a password.
func (p *prober) history(ctx context.Context) {
	h := &p.facts.History
	h.Wanted = p.History
	folder, err := signalFolder(p.Desktop, p.env.getenv)
	if err == nil {
		h.Folder = folder
	}
	if !h.Wanted {
		return
	}
	if err == nil {
		k, findErr := key.Find(ctx, key.Options{
			Explicit: string(p.Desktop.Key), Config: cmp.Or(p.Desktop.Config, filepath.Join(folder, "config.json")),
			LocalState: p.Desktop.LocalState, Getenv: p.env.getenv,
		})
		k.Wipe()
		err = findErr
	}
	if err != nil {
		h.Key = hub.OneLine(err.Error(), 1024)
	}
}
