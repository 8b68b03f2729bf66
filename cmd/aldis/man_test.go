package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestManPages has every page read by mandoc, which knows the macros best.
func TestManPages(t *testing.T) {
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("there is no mandoc, which checks manual pages")
	}
	for _, p := range manPages(model(t), build{Version: "v1.2.3", Date: "2026-12-01T00:00:00Z"}) {
		t.Run(p.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), p.name+".1")
			if err := os.WriteFile(path, []byte(p.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(mandoc, "-T", "lint", "-W", "warning", path).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestManPageOfACommand(t *testing.T) {
	pages := map[string]string{}
	for _, p := range manPages(model(t), build{Version: "v1.2.3", Date: "2026-12-01T00:00:00Z"}) {
		pages[p.name] = p.text
	}
	for page, lines := range map[string][]string{
		"aldis":       {`.TH "ALDIS" 1 "2026-12-01" "aldis v1.2.3" "Aldis"`, `.BR aldis\-serve (1)`},
		"aldis-serve": {`aldis\-serve \- Run the hub`, `\fB\-\-port\fR=\fI8765\fR`, `\fB\-\-demo\fR`, "ALDIS_PORT, SIGNAL_MCP_PORT"},
		"aldis-token": {`.SH TOKEN ADD`, `.B aldis token revoke`, `\fI<agent>\fR`},
	} {
		for _, line := range lines {
			if !strings.Contains(pages[page], line) {
				t.Errorf("%s lacks %s:\n%s", page, line, pages[page])
			}
		}
	}
	if _, ok := pages["aldis-demo-hub"]; ok {
		t.Error("a hidden command has a page")
	}
}

func TestTextOfAManPageIsNoMacro(t *testing.T) {
	for text, want := range map[string]string{
		".TH x":        `\&.TH x`,
		"a\n'b":        "a\n\\&'b",
		`C:\x --flag`:  `C:\ex \-\-flag`,
		"  in blanks ": "in blanks",
	} {
		if got := roff(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
