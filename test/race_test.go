//go:build race

package test

// raceFlags build the program as the tests themselves are built.
var raceFlags = []string{"-race"}
