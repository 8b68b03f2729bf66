package auth

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestAdminTokenIsMadeOnceAndKept(t *testing.T) {
	dir := t.TempDir()
	first, err := AdminToken(dir)
	if err != nil || len(first) != 64 { // 32 bytes in hex
		t.Fatalf("AdminToken: %q, %v", first, err)
	}
	again, err := AdminToken(dir)
	if err != nil || again != first {
		t.Errorf("the second time: %q, %v; want %q", again, err, first)
	}
	if read, err := ReadAdminToken(dir); err != nil || read != first {
		t.Errorf("ReadAdminToken: %q, %v", read, err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
}

func TestAdminTokenIsItsOwnersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such modes on windows; the user's folder has its own rights")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, adminFile)
	if err := os.WriteFile(path, []byte("by-hand\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if token, err := AdminToken(dir); err != nil || token != "by-hand" {
		t.Errorf("AdminToken: %q, %v", token, err)
	}
	if fi, _ := os.Stat(path); fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", fi.Mode())
	}
}

func TestEmptyAdminTokenIsNoToken(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, adminFile), []byte(" \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := AdminToken(dir); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("AdminToken: %v", err)
	}
}

func TestNoFolderForTheAdminToken(t *testing.T) {
	token, err := AdminToken(filepath.Join(t.TempDir(), "missing"))
	if err == nil {
		t.Errorf("AdminToken: %q, no error", token)
	}
}
