// Package desktop reads Signal Desktop's history, and only reads it: the
// database is opened read-only at the level of the file, nothing is locked, and
// no file is made. Its one rule is that an answer leaves only when the files
// have proved unchanged under it.
package desktop
