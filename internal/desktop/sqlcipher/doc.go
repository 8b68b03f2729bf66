// Package sqlcipher reads a SQLCipher 4 database and its WAL as one plain SQLite
// file, while others write to it. Its one rule is that it changes nothing and
// holds nobody up: it opens files for reading alone, and takes no lock.
package sqlcipher
