//go:build !race

package browser

var raceFlags []string
