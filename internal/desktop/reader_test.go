package desktop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
	"aldis/internal/hubtest/signaldesktop"
)

func TestWhatCannotBeReadIsRefusedClearly(t *testing.T) {
	old := newDesktop(t, signaldesktop.Options{Schema: 50})
	fine := newDesktop(t, signaldesktop.Options{Schema: 1830})
	fine.Exec("CREATE TABLE more (x)")
	wrong := fine.options(t)
	wrong.Key[0] ^= 1
	for _, tt := range []struct {
		what string
		o    Options
		says string
	}{
		{"a schema of before 2023", old.options(t), "schema 50, of a Signal Desktop of before 2023; 88 is the oldest"},
		{"a wrong key", wrong, "the key does not fit"},
		{"no file", Options{Path: old.dir + "/none"}, "no such file"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			_, err := Open(t.Context(), tt.o)
			if hub.KindOf(err) != hub.Unavailable || !strings.Contains(fmt.Sprint(err), tt.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestASchemaWithoutAColumnIsRefused(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 9999})
	d.Exec("ALTER TABLE conversations RENAME COLUMN active_at TO lastActive")
	_, err := Open(t.Context(), d.options(t))
	if hub.KindOf(err) != hub.Unavailable || !strings.Contains(fmt.Sprint(err), "schema 9999, which has no column conversations.active_at") {
		t.Errorf("got %v", err)
	}
}

func TestIndexesAreNotNeeded(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 9999})
	d.people()
	want := d.fill(9)
	d.Exec("DROP INDEX " + inConversation)
	d.Exec("DROP INDEX " + inAll)
	d.Exec("CREATE INDEX " + inConversation + " ON messages (conversationId) WHERE body IS NULL") // of another meaning
	ans, err := d.reader(t, Grants{}).Messages(t.Context(), MessageQuery{Conversation: "c-ada"})
	if diff := cmp.Diff(want, ids(ans.Messages)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestWhatIsCommittedIsSeenAtOnce(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	d.people()
	r := d.reader(t, Grants{})
	for i := range 5 {
		id := fmt.Sprint("m", i)
		d.put("messages", columns{"id": id, "conversationId": "c-ada", "type": "incoming", "sent_at": i, "received_at": i, "json": columns{}})
		if _, err := r.Message(t.Context(), id); err != nil {
			t.Error(err)
		}
		d.put("conversations", columns{"id": "c-ada", "type": "private", "serviceId": "ada", "active_at": 1, "json": columns{"profileName": id}})
		if m, err := r.Message(t.Context(), id); err != nil || m.Sender.Name != id {
			t.Errorf("sent by %v, %v", m.Sender, err)
		}
		d.Exec("ALTER TABLE messages ADD COLUMN later" + id) // the schema is read anew
		d.Exec("DELETE FROM messages")
		if _, err := r.Message(t.Context(), id); hub.KindOf(err) != hub.NotFound {
			t.Error(err)
		}
	}
}

func TestWhatIsReadWhileFilesChangeIsDropped(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	d.people()
	r := d.reader(t, Grants{})
	overtake := func(n int) { // what was read is overwritten
		d.put("items", columns{"id": "x", "json": fmt.Sprint(n)})
		d.Checkpoint("TRUNCATE")
	}
	tries := 0
	got, err := read(t.Context(), r, func(ctx context.Context, v *view) (string, error) {
		if tries++; tries < 3 {
			overtake(tries)
			return "", errors.New("database disk image is malformed")
		}
		val, _, err := one(ctx, v.db, value[string], "SELECT json FROM items WHERE id = 'x'")
		return val, err
	})
	if got != "2" || err != nil || tries != 3 {
		t.Errorf("got %q, %v after %d tries", got, err, tries)
	}
	tries = 0
	_, err = read(t.Context(), r, func(context.Context, *view) (string, error) {
		tries++
		overtake(tries)
		return "wrong", nil
	})
	if hub.KindOf(err) != hub.Unavailable || !strings.Contains(hub.Readable(err), "faster than it can be read; try again") || tries != viewTries {
		t.Errorf("got %v after %d tries", err, tries)
	}
}

func TestNothingIsSortedOnDisk(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"SQLITE_TMPDIR", "TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, folder)
	}
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	n, err := read(t.Context(), d.reader(t, Grants{}), func(ctx context.Context, v *view) (int, error) {
		n := 0
		err := each(ctx, v.db, func(*sql.Rows) (bool, error) { n++; return true, nil },
			"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x < 40000) SELECT hex(randomblob(500)) h FROM c ORDER BY h")
		return n, err
	})
	left, _ := os.ReadDir(folder)
	if err != nil || n != 40000 || len(left) > 0 {
		t.Errorf("%d rows, %v, %v left", n, err, left)
	}
}

func TestNobodyWaitsForEver(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	r, err := Open(t.Context(), d.options(t))
	if err != nil {
		t.Fatal(err)
	}
	release, inside := make(chan struct{}), make(chan struct{}, maxViews)
	var views sync.WaitGroup
	for range maxViews {
		views.Go(func() {
			err := r.view(context.Background(), func(context.Context, *view) error {
				inside <- struct{}{}
				<-release
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for range maxViews {
		<-inside
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Message(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("past the bound: %v", err)
	}
	closed := make(chan error)
	go func() { closed <- r.Close() }()
	<-r.closed
	if _, err := r.Message(t.Context(), "x"); hub.KindOf(err) != hub.Unavailable {
		t.Errorf("while it closes: %v", err)
	}
	close(release)
	views.Wait()
	if err := errors.Join(<-closed, r.Close()); err != nil {
		t.Errorf("closed: %v", err)
	}
}

func TestASessionIsKeptForAWhile(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	r := d.reader(t, Grants{})
	session := func() (s *session) {
		if err := r.view(t.Context(), func(_ context.Context, v *view) error { s = v.session; return nil }); err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := session()
	if session() != first {
		t.Error("it is not kept though nothing has been written")
	}
	r.dropIdle()
	if session() == first {
		t.Error("it is kept though its time was over")
	}
}

func TestACanceledReadEndsSoon(t *testing.T) {
	d := newDesktop(t, signaldesktop.Options{Schema: 1830})
	ctx, cancel := context.WithCancel(t.Context())
	err := d.reader(t, Grants{}).view(ctx, func(ctx context.Context, v *view) error {
		cancel()
		_, err := all(ctx, v.db, value[int], "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c")
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
