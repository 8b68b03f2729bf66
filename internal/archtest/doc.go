// Package archtest holds the project to its conventions: which room may import
// which, and what else is easier kept than restored. Each test says why.
//
// Its one rule: it reads the sources itself rather than ask the go command, so
// that the test cache knows when an answer is stale.
package archtest
