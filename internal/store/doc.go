// Package store keeps what the hub must not forget: the record of messages and
// what became of them, sessions and tokens in one SQLite database, and a few
// small files in the state folder.
//
// The one rule: a method that changes something returns after the change is
// on the disk, or it has changed nothing.
//
// One goroutine writes. What is waiting for it goes into one transaction, so
// that many callers share the price of one flush to the disk.
package store
