package store

import "testing"

// salonTable is the schema of seed agent-salon.md.
const salonTable = `CREATE TABLE messages (id TEXT PRIMARY KEY, ts TEXT NOT NULL, via TEXT NOT NULL, source TEXT NOT NULL, target TEXT,
	content TEXT NOT NULL, meta TEXT NOT NULL, delivered_to TEXT NOT NULL, delivery_errors TEXT NOT NULL, sender_addr TEXT, sender_session_id TEXT)`

// makeSalon makes an empty database of the seed's program.
func makeSalon(t *testing.T, path string) { runSQL(t, path, salonTable) }
