package setup

import (
	"fmt"
	"io"
	"strings"

	"rsc.io/qr"
)

// quiet is how many light modules are around a code (ISO/IEC 18004, 5.3.8).
const quiet = 4

// Black on white, by their places in the table of 256 colours: themes change
// the first 16. A phone needs dark modules on light ground whatever the
// terminal's own colours are, and though others are not wanted (NO_COLOR).
const (
	ink   = "\x1b[38;5;16;48;5;231m"
	plain = "\x1b[0m"
)

// WriteQR writes text as a QR code for a phone to scan from a terminal, two
// modules in a character. It takes up to 2,953 bytes.
func WriteQR(w io.Writer, text string) error {
	code, err := qr.Encode(text, qr.L) // the smallest: a screen has no stains
	if err != nil {
		return fmt.Errorf("draw a QR code: %w", err)
	}
	var b strings.Builder
	for y := -quiet; y < code.Size+quiet; y += 2 {
		b.WriteString("  " + ink)
		for x := -quiet; x < code.Size+quiet; x++ {
			b.WriteString(halves(code.Black(x, y), code.Black(x, y+1)))
		}
		b.WriteString(plain + "\n")
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// halves returns a character whose upper and lower half are dark.
func halves(upper, lower bool) string {
	switch {
	case upper && lower:
		return "█"
	case upper:
		return "▀"
	case lower:
		return "▄"
	default:
		return " "
	}
}
