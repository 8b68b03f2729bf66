package install

import "os"

// keepOwner is for systems where root edits other people's files.
func keepOwner(*os.File, string) error { return nil }
