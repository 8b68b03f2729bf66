package desktop

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hubtest/signaldesktop"
)

var update = flag.Bool("update", false, "write testdata/content.golden anew")

// TestTheSameIsShownOfEverySchema reads people and messages of every kind, and
// compares what hosts are shown of them with testdata/content.golden.
func TestTheSameIsShownOfEverySchema(t *testing.T) {
	const golden = "testdata/content.golden"
	on(t, func(t *testing.T, schema int) {
		d := newDesktop(t, signaldesktop.Options{Schema: schema, Content: true})
		got := shown(t, d.reader(t, Grants{}))
		for _, hidden := range []string{signaldesktop.Secret, signaldesktop.Number} {
			if strings.Contains(got, hidden) {
				t.Errorf("%s is shown", hidden)
			}
		}
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// shown is each conversation and each of its messages, in a line. Of long texts
// it has the size.
func shown(t *testing.T, r *Reader) string {
	t.Helper()
	var b bytes.Buffer
	line := func(val any) {
		text, err := Encode(val)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	list, err := r.Conversations(t.Context(), ConversationQuery{})
	if err != nil || list.HasMore {
		t.Fatalf("has more: %v, %v", list.HasMore, err)
	}
	for _, c := range list.Conversations {
		b.WriteByte('\n')
		line(c)
		ans, err := r.Messages(t.Context(), MessageQuery{Conversation: c.ID})
		if err != nil || ans.HasMore {
			t.Fatalf("%s has more: %v, %v", c.ID, ans.HasMore, err)
		}
		for _, m := range ans.Messages {
			if len(m.Body) > 1000 {
				m.Body = fmt.Sprintf("(%d bytes)", len(m.Body))
			}
			line(m)
		}
	}
	return b.String()
}
