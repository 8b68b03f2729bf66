package archtest

import (
	"go/ast"
	"iter"
	"slices"
)

// calls yields every call in a file.
func calls(f *ast.File) iter.Seq[*ast.CallExpr] { return nodes[*ast.CallExpr](f) }

// funcs yields every declared function of a file.
func funcs(f *ast.File) iter.Seq[*ast.FuncDecl] { return nodes[*ast.FuncDecl](f) }

func nodes[N ast.Node](f *ast.File) iter.Seq[N] {
	return func(yield func(N) bool) {
		for n := range ast.Preorder(f) {
			if v, ok := n.(N); ok && !yield(v) {
				return
			}
		}
	}
}

// isCall reports whether call is of one of a package's functions.
func isCall(call *ast.CallExpr, pkg string, names ...string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == pkg && slices.Contains(names, sel.Sel.Name)
}
