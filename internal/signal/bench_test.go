package signal

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"aldis/internal/hub"
)

// decodeQuote returns what takes a reply from a line of the daemon to a
// message, and the line.
func decodeQuote(t testing.TB) (func() hub.Message, []byte) {
	t.Helper()
	raw, err := os.ReadFile("testdata/captured-0.13.19/quote.json")
	if err != nil {
		t.Fatal(err)
	}
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil {
		t.Fatal(err)
	}
	d := decoder{people: newPeople(aliceNumber)}
	var p parser
	return func() hub.Message {
		var f frame
		if err := p.parse(line.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		m, _ := d.decode(f.Params)
		return m
	}, line.Bytes()
}

func BenchmarkDecodeQuote(b *testing.B) {
	decode, line := decodeQuote(b)
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		decode()
	}
}

// TestDecodeAllocates: the receive path is hot, and its garbage is bounded.
func TestDecodeAllocates(t *testing.T) {
	decode, _ := decodeQuote(t)
	if m := decode(); m.Quote == nil {
		t.Fatalf("no quote in %+v", m)
	}
	if n := testing.AllocsPerRun(100, func() { decode() }); n > 20 {
		t.Errorf("a quote takes %.0f allocations, want at most 20", n)
	}
}
