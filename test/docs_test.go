package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"aldis/internal/hubtest"
)

// exact are the commands of a page that are run as they stand.
var exact = regexp.MustCompile("(?s)<!-- A test runs exactly this. -->\n```sh\n(.*?)```")

// TestCommandsOfThePages runs, page by page and in their order, the commands
// that need nothing but a hub. Package main's tests have those of all pages
// parsed; those of docs/salon.md have a test of their own.
func TestCommandsOfThePages(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"sh", "awk", "cut", "openssl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the commands of the pages need %s", program)
		}
	}
	for _, page := range []string{"operations", "access", "hooks"} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("..", "docs", page+".md"))
			if err != nil {
				t.Fatal(err)
			}
			blocks := exact.FindAllSubmatch(text, -1)
			if len(blocks) == 0 {
				t.Fatal("the page has no such commands")
			}
			h := startSignalHub(t, hubtest.NewDaemon(t))
			for _, block := range blocks {
				cmd := command(t)
				cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-eu", "-c", string(block[1])}
				cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"), "ALDIS_HUB="+h.url,
					"ALDIS_STATE_DIR="+h.stateDir, "ALDIS_AUTH_TOKEN="+token)
				if got := runCommand(t, cmd); got.code != 0 {
					t.Errorf("exit code %d: %s\nof\n%s", got.code, got.stderr, block[1])
				}
			}
		})
	}
}
