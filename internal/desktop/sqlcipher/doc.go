// Package sqlcipher reads a SQLCipher 4 database and its WAL as one plain SQLite
// file, while others write to it. Its one rule is that it changes nothing and
// holds nobody up: it opens files for reading alone, maps none, and takes no
// lock. A reader that takes no lock can read a mixture of two states. So it
// looks afterwards whether it has: see [Snapshot.Valid].
//
// # Pages
//
// A SQLCipher 4 file is an SQLite file of which every page is encrypted on its
// own, in place. Pages have 4,096 bytes and are numbered from 1; page n is at
// (n-1)·4096.
//
//	   0                                        4016        4032          4096
//	   ├────────────── ciphertext ──────────────┼─── IV ────┼──── HMAC ────┤
//	                                            └─── reserve, 80 bytes ────┘
//	page 1:
//	   0      16                                4016        4032          4096
//	   ├ salt ┼────────── ciphertext ───────────┼─── IV ────┼──── HMAC ────┤
//
// The ciphertext is AES-256-CBC without padding. The IV is random, and another
// each time that the page is written. The HMAC is HMAC-SHA512 over the
// ciphertext, the IV and the page's number as 4 bytes, little-endian. It is
// checked before a page is used, for it does two jobs: it finds damage, and it
// finds a page of which the first half was read before it was overwritten and
// the second half after.
//
// The salt is random, made once with the database, and not encrypted. It stands
// where SQLite has "SQLite format 3\0", which is put back. The HMAC of page 1
// leaves it out, but has it in its key. All else of the plain page is as SQLite
// wrote it: byte 20 says that 80 bytes of each page are reserved, so that any
// SQLite finds its way. A page of zeros is one that was never written, as that
// of the lock bytes at 1 GiB, and is zeros in plain too.
//
// Here the key is raw: its 32 bytes are the AES key, without a pass phrase. The
// key of the HMAC is
//
//	PBKDF2-HMAC-SHA512(password: the raw key, salt: each byte of the salt ^ 0x3a, rounds: 2, length: 32)
//
// # The WAL
//
// What is committed is first appended to db.sqlite-wal, and copied into the main
// file later, by a checkpoint.
//
//	header, 32 bytes, all numbers big-endian
//	   0  0x377f0682, or …83: the checksums read little-endian words, or big-endian
//	   4  3007000, the version
//	   8  4096, the size of a page
//	  12  a count of checkpoints
//	  16  two salts, 8 bytes: another pair in every generation
//	  24  the checksum of bytes 0 to 23, 8 bytes
//	frame, 24 bytes and a page, encrypted as it will be in the main file
//	   0  the number of the page
//	   4  in a commit frame, the size of the database after it, in pages; else 0
//	   8  the salts of the header
//	  16  the checksum up to here, 8 bytes
//	  24  the page
//
// The checksum goes on from that of the frame before (at first, of the header)
// over bytes 0 to 7 of the frame and its page as it is in the file: no key is
// needed to follow it. The first frame whose salts or checksum do not fit ends
// the WAL, and what is behind the last commit frame before it was never
// committed. A page is read from the last committed frame that has it, or else
// from the main file.
//
// When all of the WAL has been copied and nobody reads in it, the next writer
// begins it again: new salts, and frames over the old ones from the first on.
// That is a new generation. Within one, a frame that has been committed does not
// change.
//
// # The index
//
// db.sqlite-shm is memory that the writers share. Its numbers are in the order
// of the machine. Three of them tell of writes:
//
//	 16  mxFrame: the last frame that is committed
//	 32  the salts of the generation that the index is about
//	128  nBackfillAttempted: the last frame that a checkpoint may have copied
//
// Bytes 0 to 47 are there twice, in 48 to 95 again. Where the two are not the
// same, somebody is writing them.
//
// # Why a snapshot that is valid is one committed state
//
// A snapshot knows the frames of one generation up to a commit, N. Either the
// index proves it, whatever the files' times say, if all of this holds at the
// beginning and again after the reading:
//
//   - The WAL has the header that it had, and the index has its salts. A writer
//     sets new salts in the index before it writes over a frame, so all frames
//     that were read are of the one generation.
//   - mxFrame is not less than N: the writers too take the frames up to N for
//     committed, and write behind them alone.
//   - nBackfillAttempted is not more than N. A checkpoint sets it before it
//     writes to the main file, and writes pages alone that have a frame up to
//     there. The snapshot has all those in its frames, and has read none of them
//     from the main file.
//
// So commits do not make a snapshot invalid, nor does a checkpoint up to N, but
// a checkpoint past it does, and a new generation.
//
// Or the index proves nothing: nobody has the database open, or all has been
// copied and no generation begun, or a crash left the WAL without an index.
// Then nothing at all may have changed: the size and time of the main file and
// the WAL, the WAL's header, the index, nBackfillAttempted, and the time of the
// folder, which changes when -wal and -shm come and go. The last is for a writer
// that opened the database, wrote, copied all and closed it: it leaves no WAL, as
// it found none. Times prove something only if they are older than a tick of
// the file system's clock, so a snapshot waits until they are. And where the
// index has the salts of the WAL, or the WAL's header is damaged, then
// nBackfillAttempted still may not be more than N: frames are lost that the main
// file may have a part of.
//
// # What is not proved
//
//   - That a page is the latest: who can write to the files can put an older one
//     back in its place, or zeros, and its HMAC will fit, as SQLCipher has it.
//   - That a commit whose fsync failed, and which the writer then took back, was
//     never seen: it can be, in the moment before.
//   - Anything on a file system that does not show one process what another has
//     written or mapped, as over a network, or whose times are coarser than 20
//     milliseconds while no index vouches.
//   - Anything while a writer keeps the index to itself (locking_mode=EXCLUSIVE,
//     which Signal does not use) and one that died has left its own.
//   - That a writer which died in a checkpoint is not mistaken for one that made
//     none, if it is started again during one query and the query ends between
//     two neighbouring stores of its recovery.
//
// # On Windows
//
// Files are opened through [os.Root], which lets others remove and rename them
// meanwhile; [os.Open] does not. A file that is removed keeps its name there
// until the last handle is closed, so close a snapshot when a query is done
// rather than keep it. SQLite locks bytes 120 to 128 of the -shm file: a read
// that the system refuses for such a lock is tried again.
//
// # Sources
//
// SQLite: Database File Format (https://sqlite.org/fileformat2.html), sections
// 1.2 pages, 1.3 the header, 1.3.4 reserved bytes, 1.4 the lock-byte page, and 4
// the write-ahead log: 4.1 format, 4.2 checksum, 4.3 checkpoint, 4.4 reset, 4.5
// reader. WAL-mode File Format (https://sqlite.org/walformat.html), on the index
// and its locks. In what order the index, the WAL and the main file are written
// is in no document; it is in SQLite's wal.c: walRestartHdr, walCheckpoint,
// walIndexRecover, walFrames, sqlite3WalClose.
//
// SQLCipher: Design (https://www.zetetic.net/sqlcipher/design/), and in its
// source sqlcipher_page_cipher and sqlcipher_cipher_ctx_key_derive. The layouts
// were compared with files that SQLCipher 4.18 wrote; see the tests.
package sqlcipher
