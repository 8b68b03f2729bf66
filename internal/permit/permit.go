// Package permit knows what a person's verdict on a permission prompt looks
// like. Its one rule: nothing but the grammar counts, so that ordinary words
// never decide anything.
package permit

import "regexp"

// verdict is the grammar of seed channels-reference.md, section Permission
// Relay: yes or no, and five letters a–z without l.
var verdict = regexp.MustCompile(`(?i)^\s*(?:y|yes|n|no)\s+[a-km-z]{5}\s*$`)

// IsVerdict reports whether text is in the grammar of a verdict.
func IsVerdict(text string) bool {
	return len(text) <= 64 && verdict.MatchString(text)
}
