package doctor

import (
	"fmt"
	"slices"
	"strings"
)

func (f Facts) settings() []Result {
	s := f.Settings
	list := append([]Result{s.file()}, s.odd()...)
	if len(s.Wrong) == 0 {
		return append(list, ok("values", "aldis serve would start with them"))
	}
	for _, why := range s.Wrong {
		says, mend := "aldis serve would not start: "+why, "change it in the environment or the env file, then: aldis doctor"
		if f.Hub.up() {
			list = append(list, warn("values", says+". The hub that runs was started with others",
				"aldis doctor --env-file FILE, with the file that the hub was started with"))
			continue
		}
		list = append(list, fail("values", says, mend))
	}
	return list
}

// file says who can read the tokens in the env file.
func (s Settings) file() Result {
	const name = "env file"
	switch {
	case s.EnvFile == "":
		return skip(name, "none is named (--env-file, ALDIS_CONFIG)")
	case s.EnvMode&0o007 != 0:
		return fail(name, fmt.Sprintf("%s is open to everybody on this machine (mode %04o), and tokens are in such files", s.EnvFile, s.EnvMode), "chmod 600 "+s.EnvFile)
	case s.EnvMode&0o020 != 0:
		return warn(name, fmt.Sprintf("the group of %s may change it (mode %04o)", s.EnvFile, s.EnvMode), "chmod g-w "+s.EnvFile)
	default:
		return ok(name, s.EnvFile)
	}
}

// odd are the lines and variables that set nothing: a word that is misspelled
// leaves its setting at the default in silence.
func (s Settings) odd() (list []Result) {
	for _, line := range s.Skipped {
		list = append(list, warn("env file", fmt.Sprintf("line %d of %s is not KEY=VALUE, and sets nothing", line, s.EnvFile),
			fmt.Sprintf("write KEY=VALUE in line %d, or begin it with #", line)))
	}
	for _, w := range s.Odd {
		list = append(list, warn("env file", w, "name a file that exists, or unset the variable"))
	}
	for _, name := range slices.Sorted(slices.Values(s.Names)) {
		if !strings.HasPrefix(name, "ALDIS_") || slices.Contains(s.Known, name) {
			continue
		}
		mend := "take it out; docs/settings.md lists what there is"
		if like := nearest(name, s.Known); like != "" {
			mend = "write " + like
		}
		list = append(list, warn("variables", name+" is set, and sets nothing: there is no such setting", mend))
	}
	return list
}

// nearest returns the word that name was probably meant to be; empty: none.
func nearest(name string, words []string) (best string) {
	least := 4 // more changes make another word
	for _, w := range words {
		if n := changes(name, w); n < least {
			best, least = w, n
		}
	}
	return best
}

// changes returns how many letters are to be put in, taken out or changed to
// make b of a (the distance of Levenshtein).
func changes(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
