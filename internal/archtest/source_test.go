package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A source is one parsed file of ours that is no test.
type source struct {
	path string // from the root of the module, with slashes
	fset *token.FileSet
	ast  *ast.File
}

// pkg is the file's folder: "internal/hub", "cmd/aldis".
func (s source) pkg() string { return path.Dir(s.path) }

// room is the package as the rules call it: "hub", "desktop/key", "cmd/aldis".
func (s source) room() string { return strings.TrimPrefix(s.pkg(), "internal/") }

func (s source) line(n ast.Node) int { return s.fset.Position(n.Pos()).Line }

// at says where n is, for a complaint.
func (s source) at(n ast.Node) string { return s.path + ":" + strconv.Itoa(s.line(n)) }

// lines is how many lines n takes, without its doc comment.
func (s source) lines(n ast.Node) int { return s.fset.Position(n.End()).Line - s.line(n) + 1 }

func parse(name string, text any) (source, error) {
	s := source{path: name, fset: token.NewFileSet()}
	var err error
	s.ast, err = parser.ParseFile(s.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return s, err
}

// sources parses all of cmd and internal but the tests.
func sources(t *testing.T) (all []source) {
	t.Helper()
	for _, top := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join("..", "..", top), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
				return err
			}
			s, err := parse(p, nil)
			if err != nil {
				return err
			}
			s.path = strings.TrimPrefix(filepath.ToSlash(p), "../../")
			all = append(all, s)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// A rule returns what is wrong with a file.
type rule func(source) []string

// hold applies a rule to all that we have written.
func hold(t *testing.T, r rule, why string) {
	t.Helper()
	for _, s := range sources(t) {
		for _, wrong := range r(s) {
			t.Errorf("%s\n\twhy: %s", wrong, why)
		}
	}
}

// catches checks that a rule finds fault with a piece of source, or does not.
func catches(t *testing.T, r rule, file, text string, want bool) {
	t.Helper()
	s, err := parse(file, "package x\n"+text)
	if err != nil {
		t.Fatal(err)
	}
	if got := r(s); (len(got) > 0) != want {
		t.Errorf("%s:\n%s\n\tfound %q; fault expected: %v", file, text, got, want)
	}
}
