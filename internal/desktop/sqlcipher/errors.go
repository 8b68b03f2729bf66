package sqlcipher

import "errors"

// Why a database cannot be read. What the package returns wraps one of these,
// or the error of the file system, and names the file or the page.
var (
	// ErrKey says that the first page does not fit the key. A wrong key, other
	// settings than those of SQLCipher 4, another kind of file and a damaged
	// first page all look like this.
	ErrKey = errors.New("the key does not fit, or this is no SQLCipher 4 database: take the key from the same installation as the database")
	// ErrPlain says that the database is not encrypted.
	ErrPlain = errors.New("this is an SQLite database that is not encrypted: name the db.sqlite of Signal Desktop")
	// ErrEmpty says that the file has no bytes.
	ErrEmpty = errors.New("the file is empty: start Signal Desktop once, or restore the file")
	// ErrTruncated says that the end of the file is missing.
	ErrTruncated = errors.New("the end of the file is missing: copy or restore it again, whole")
	// ErrDamaged says that a page is not what was written there. While the
	// snapshot is not valid it only means that the page was being overwritten.
	ErrDamaged = errors.New("the page is damaged: restore the database")
	// ErrJournal says that changes of the database are not kept in a WAL, so
	// that nothing tells a reader without locks of them.
	ErrJournal = errors.New("the database is not in WAL mode: start Signal Desktop once")
	// ErrReplaced says that another database has taken the place of the one
	// that was opened.
	ErrReplaced = errors.New("the database has been replaced: open it again, with its key")
	// ErrBusy says that no moment was found in which the files agreed.
	ErrBusy = errors.New("the database changes too quickly to be read, or its -wal file is damaged: try again, and if that does not help restart Signal Desktop")
)
