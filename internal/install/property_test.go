package install

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// edit puts an entry into a text, as Put does with a file, and proves it.
func edit(c *Client, text []byte, s Server) ([]byte, error) {
	d, err := c.draftOf(&Change{}, text)
	if err != nil {
		return nil, err
	}
	ch, err := d.put(s)
	if err != nil {
		return nil, err
	}
	return ch.after, nil
}

func cut(c *Client, text []byte, name string) ([]byte, error) {
	d, err := c.draftOf(&Change{}, text)
	if err != nil {
		return nil, err
	}
	ch, err := d.cut(name)
	if err != nil {
		return nil, err
	}
	return ch.after, nil
}

// jsonc draws a value as somebody may have written it: with comments, spaces
// and commas where they may be.
func jsonc(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind %= 3
	}
	switch kind {
	case 0:
		return rapid.SampledFrom([]string{"1.50", "-0", "1e400", "true", "null"}).Draw(t, "scalar")
	case 1, 2:
		return quote(rapid.StringN(0, 6, -1).Draw(t, "text"))
	case 3:
		return list(t, "[", "]", depth, func() string { return jsonc(t, depth-1) })
	default:
		i := 0
		return list(t, "{", "}", depth, func() string {
			i++
			return quote(string(rune('a'+i))) + extra(t) + ":" + extra(t) + jsonc(t, depth-1)
		})
	}
}

func list(t *rapid.T, open, end string, depth int, member func() string) string {
	n := rapid.IntRange(0, 3).Draw(t, "members")
	var b strings.Builder
	b.WriteString(open + extra(t))
	for i := range n {
		b.WriteString(member() + extra(t))
		if i < n-1 || rapid.Bool().Draw(t, "comma") {
			b.WriteString("," + extra(t))
		}
	}
	return b.String() + end
}

// extra draws what may stand between two tokens.
func extra(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(
		[]string{" ", "\n", "\r\n", "\t", "// { \"\n", "/* , */", "/* }\n*/", "//\r\n", "\n  "}), 0, 3).Draw(t, "extra"), "")
}

// TestAnyJSON puts an entry into any file, and takes it out of it again. The
// file keeps each byte that is none of the entry's, but for blanks in an empty
// object.
func TestAnyJSON(t *testing.T) {
	c := client(t, "opencode")
	s := serverFor(t, c, wish)
	rapid.Check(t, func(t *rapid.T) {
		i := 0
		servers := list(t, "{", "}", 2, func() string {
			i++
			return quote(string(rune('k'+i))) + ": " + jsonc(t, 2)
		})
		text := extra(t) + `{"before"` + extra(t) + `:` + jsonc(t, 2) + extra(t) + `,` + extra(t) +
			`"mcp":` + extra(t) + servers + extra(t) + `,"after":[]` + extra(t) + `}` + extra(t)
		with, err := edit(c, []byte(text), s)
		if err != nil {
			t.Fatalf("put into %q: %v", text, err)
		}
		again, err := edit(c, with, s)
		if err != nil || !bytes.Equal(again, with) {
			t.Fatalf("put twice into %q: %v, %q", text, err, again)
		}
		if missing := missingFrom(string(with), text); missing != "" && i > 0 {
			t.Fatalf("put into %q lost %q: %q", text, missing, with)
		}
		after, err := cut(c, with, s.Name)
		if err != nil {
			t.Fatalf("cut from %q, made from %q: %v", with, text, err)
		}
		if got, want := string(after), text; i > 0 && got != want {
			t.Fatalf("put and cut: got %q, want %q; was %q", got, want, with)
		}
	})
}

// missingFrom returns where text stops being a subsequence of whole.
func missingFrom(whole, text string) string {
	for i := range len(text) {
		at := strings.IndexByte(whole, text[i])
		if at < 0 {
			return text[i:]
		}
		whole = whole[at+1:]
	}
	return ""
}

// corpus gives a fuzzer the files of testdata.
func corpus(f *testing.F, pattern string) {
	files, _ := filepath.Glob(pattern)
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

// fuzz holds an edit of any text to the rule of this package.
func fuzz(t *testing.T, c *Client, text []byte) {
	s := serverFor(t, c, wish)
	with, err := edit(c, text, s)
	if err != nil {
		return
	}
	if again, err := edit(c, with, s); err != nil || !bytes.Equal(again, with) {
		t.Fatalf("put twice into %q: %v\n%q\n%q", text, err, with, again)
	}
	after, err := cut(c, with, s.Name)
	if err != nil {
		t.Fatalf("cut from %q: %v", with, err)
	}
	was, _ := c.draftOf(&Change{}, text)
	is, err := c.draftOf(&Change{}, after)
	if err != nil {
		t.Fatalf("after put and cut %q is %q: %v", text, after, err)
	}
	is.take(is.root, s.Name)
	if was.take(was.root, s.Name); !reflect.DeepEqual(was.root, is.root) {
		t.Fatalf("after put and cut %q is %q", text, after)
	}
}

func FuzzEditJSON(f *testing.F) {
	corpus(f, "testdata/*/*.in")
	c := client(f, "opencode")
	f.Fuzz(func(t *testing.T, text []byte) { fuzz(t, c, text) })
}

func FuzzEditTOML(f *testing.F) {
	corpus(f, "testdata/codex/*.in")
	f.Add([]byte("mcp_servers = { aldis = { command = 'aldis' } }\n"))
	f.Add([]byte("mcp_servers.aldis.command = 'aldis' # it\n[mcp_servers.b]\ncommand = \"\"\"\n# x\"\"\"\n"))
	f.Add([]byte("[[mcp_servers]]\na = 1\n[mcp_servers.aldis.env]\n"))
	c := client(f, "codex")
	f.Fuzz(func(t *testing.T, text []byte) { fuzz(t, c, text) })
}
