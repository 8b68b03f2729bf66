package browser

import (
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

// writePicture makes a PNG file: a curve, which compresses as a chart does.
func writePicture(t *testing.T, name string, width, height int) string {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, width, height))
	for x := range width {
		for y := range height {
			if y*width > x*height {
				img.SetGray(x, y, color.Gray{Y: 200})
			}
		}
	}
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(f, img); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
