package hub

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMetaReference compares the keys in docs/reference.md with those that are
// ours.
func TestMetaReference(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| meta key |")
	table, _, _ = strings.Cut(table, "\n\n")
	var told []string
	for _, row := range strings.Split(table, "\n") {
		cells := strings.Split(row, "|")
		if len(cells) < 2 {
			continue
		}
		for _, key := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			told = append(told, key[1])
		}
	}
	want := slices.Sorted(slices.Values(reserved))
	if slices.Sort(told); !slices.Equal(told, want) {
		t.Errorf("docs/reference.md has the keys\n%v, want\n%v", told, want)
	}
}
