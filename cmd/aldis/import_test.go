package main

import (
	"bytes"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"aldis/internal/store"
)

// TestMovingOverFromAgentSalon goes the way of whoever has a database of that
// program: the hub refuses it and names the command, which takes it over once.
func TestMovingOverFromAgentSalon(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "agent-salon.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range []string{
		`CREATE TABLE messages (id TEXT PRIMARY KEY, ts TEXT NOT NULL, via TEXT NOT NULL, source TEXT NOT NULL, target TEXT, content TEXT NOT NULL,
			meta TEXT NOT NULL, delivered_to TEXT NOT NULL, delivery_errors TEXT NOT NULL, sender_addr TEXT, sender_session_id TEXT)`,
		`INSERT INTO messages VALUES ('019d1', '2026-02-01T10:00:00+00:00', 'tool', 'laptop', 'home', 'hi', '{}', '["home"]', '[]', NULL, 'sess')`,
	} {
		if _, err := db.Exec(st); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	aldis := func(args ...string) (code int, out string) {
		var stdout, stderr bytes.Buffer
		code = run(t.Context(), args, env{strings.NewReader(""), &stdout, &stderr, func(name string) string {
			return map[string]string{"AGENT_SALON_DB": file, "ALDIS_STATE_DIR": filepath.Join(dir, "state"), "ALDIS_LOG_LEVEL": "error"}[name]
		}})
		return code, stdout.String() + stderr.String()
	}
	for _, step := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"serve", "--auth-token", "t", "--port", "0"}, exitUsage, "aldis import salon " + file},
		{[]string{"import", "salon", file}, exitOK, "1 messages taken over, 0 were there already."},
		{[]string{"import", "salon", file}, exitOK, "0 messages taken over, 1 were there already."},
		{[]string{"import", "salon", filepath.Join(dir, "none.db")}, exitFailed, "none.db"},
		{[]string{"import", "salon", "--db", file, file}, exitUsage, "name another file"},
	} {
		if code, out := aldis(step.args...); code != step.code || !strings.Contains(out, step.says) {
			t.Errorf("aldis %s: exit %d, %q; want %d, %q", strings.Join(step.args, " "), code, out, step.code, step.says)
		}
	}
	hub, err := store.OpenDir(filepath.Join(dir, "state"), store.Holder{PID: 7})
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	if code, out := aldis("import", "salon", file); code != exitFailed || !strings.Contains(out, "in use by") {
		t.Errorf("while a hub runs: exit %d, %q", code, out)
	}
}
