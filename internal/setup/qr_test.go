package setup

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"rsc.io/qr/coding"
)

// TestQRReadsBack reads what a terminal shows as a phone does: modules, the
// mask taken off, bits in their order, bytes.
func TestQRReadsBack(t *testing.T) {
	for _, text := range []string{
		"sgnl://linkdevice?uuid=Zm9vYmFyYmF6cXV1eA%3D%3D&pub_key=BQ7nqzFyQm0QmGxqzKp1bX3Yw8r5m2v9q0l1s2d3f4g5",
		"x",
		strings.Repeat("long ", 50),
	} {
		var b bytes.Buffer
		if err := WriteQR(&b, text); err != nil {
			t.Fatal(err)
		}
		if got := readQR(t, b.String()); got != text {
			t.Errorf("read %q, want %q", got, text)
		}
	}
	if err := WriteQR(&bytes.Buffer{}, strings.Repeat("x", 3000)); err == nil {
		t.Error("more was drawn than fits")
	}
}

// TestQRIsReadableAnywhere has each line set its own colours, and a light margin
// on all sides.
func TestQRIsReadableAnywhere(t *testing.T) {
	var b bytes.Buffer
	if err := WriteQR(&b, "sgnl://linkdevice"); err != nil {
		t.Fatal(err)
	}
	dark := modules(t, b.String())
	for y, row := range dark {
		for x, d := range row {
			margin := y < quiet || x < quiet || y >= len(dark)-quiet || x >= len(row)-quiet
			if d && margin {
				t.Errorf("the margin is dark at %d,%d", x, y)
			}
		}
	}
	if !dark[quiet][quiet] {
		t.Error("no code begins where the margin ends")
	}
}

var drawn = regexp.MustCompile(`^  \x1b\[38;5;16;48;5;231m([ ▀▄█]+)\x1b\[0m$`)

// modules reads which are dark, two rows of them a line.
func modules(t *testing.T, printed string) (dark [][]bool) {
	t.Helper()
	for line := range strings.Lines(printed) {
		m := drawn.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			t.Fatalf("%q is no line of a code", line)
		}
		var upper, lower []bool
		for _, r := range m[1] {
			upper, lower = append(upper, r == '█' || r == '▀'), append(lower, r == '█' || r == '▄')
		}
		dark = append(dark, upper, lower)
	}
	return dark[:len(dark[0])] // the last half line is more margin
}

// readQR reads a code of one block, or of several, whose text is in bytes.
func readQR(t *testing.T, printed string) string {
	t.Helper()
	dark := modules(t, printed)
	size := len(dark) - 2*quiet
	version := coding.Version((size - 17) / 4)
	plan, err := coding.NewPlan(version, coding.L, 0)
	if err != nil {
		t.Fatal(err)
	}
	bits := make([]byte, plan.DataBytes)
	for y, row := range plan.Pixel {
		for x, p := range row {
			at := p.Offset()
			if p.Role() != coding.Data || at >= uint(plan.DataBytes)*8 {
				continue
			}
			if dark[y+quiet][x+quiet] != (p&coding.Invert != 0) {
				bits[at/8] |= 0x80 >> (at % 8)
			}
		}
	}
	return bytesOf(t, bits, version)
}

// bytesOf reads one segment in byte mode (ISO/IEC 18004, 7.4).
func bytesOf(t *testing.T, bits []byte, version coding.Version) string {
	t.Helper()
	at := 0
	take := func(n int) (v int) {
		for range n {
			v = v<<1 | int(bits[at/8]>>(7-at%8))&1
			at++
		}
		return v
	}
	if mode := take(4); mode != 4 {
		t.Fatalf("mode %d, want 4, bytes", mode)
	}
	length := 8
	if version >= 10 {
		length = 16
	}
	text := make([]byte, take(length))
	for i := range text {
		text[i] = byte(take(8))
	}
	return string(text)
}
