//go:build race

package browser

// raceFlags build the program as the tests themselves are built.
var raceFlags = []string{"-race"}
