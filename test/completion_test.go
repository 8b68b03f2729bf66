package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompletionInShells has each shell that is here read its script and
// complete a line, with the real program.
func TestCompletionInShells(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		shell string
		args  []string // the last runs what follows
		run   string   // completes: aldis serve --rec, and prints what it finds
	}{
		{"bash", []string{"--norc", "-c"}, `source <(aldis completion bash)
			complete -p aldis | grep -q -- '-F _aldis' || exit 1
			COMP_WORDS=(aldis serve --rec) COMP_CWORD=2
			_aldis
			printf '%s\n' "${COMPREPLY[@]}"`},
		// Its completion system needs a terminal: here two of its functions are ours.
		{"zsh", []string{"-f", "-c"}, `compdef() {}
			_describe() { print -l -- "${(@P)2}" }
			source <(aldis completion zsh)
			words=(aldis serve --rec) CURRENT=3
			_aldis`},
		{"fish", []string{"--no-config", "-c"}, `aldis completion fish | source
			complete -C 'aldis serve --rec'`},
		{"pwsh", []string{"-NoProfile", "-Command"}, `aldis completion powershell | Out-String | Invoke-Expression
			(TabExpansion2 'aldis serve --rec' 17).CompletionMatches.CompletionText`},
	} {
		t.Run(tt.shell, func(t *testing.T) {
			t.Parallel()
			shell, err := exec.LookPath(tt.shell)
			if err != nil {
				t.Skipf("there is no %s here", tt.shell)
			}
			cmd := exec.Command(shell, append(tt.args, tt.run)...)
			home := t.TempDir()
			cmd.Env = []string{"HOME=" + home, "PATH=" + filepath.Dir(binary) + string(os.PathListSeparator) + os.Getenv("PATH")}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.HasPrefix(string(out), "--record") || strings.Count(string(out), "\n") != 1 {
				t.Errorf("%v: %q, want --record alone", err, out)
			}
		})
	}
}
