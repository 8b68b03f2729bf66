package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestLogicIsGivenTimeAndChance(t *testing.T) {
	hold(t, clock, "gate, route, permit and relay decide; a decision that reads the clock or throws dice itself cannot be tested row by row. "+
		"Take a time or a func() time.Time from outside")
	catches(t, clock, "internal/route/x.go", "var t = time.Now()", true)
	catches(t, clock, "internal/relay/x.go", `import "math/rand/v2"`, true)
	catches(t, clock, "internal/relay/x.go", "var now = time.Now", false) // a default for a field
	catches(t, clock, "internal/store/x.go", "var t = time.Now()", false)
}

func clock(s source) (wrong []string) {
	if !slices.Contains([]string{"gate", "route", "permit", "relay"}, s.room()) {
		return nil
	}
	for _, spec := range s.ast.Imports {
		if imp, _ := strconv.Unquote(spec.Path.Value); strings.Contains("/"+imp+"/", "/rand/") {
			wrong = append(wrong, fmt.Sprintf("%s: %s imports %s", s.at(spec), s.room(), imp))
		}
	}
	for call := range calls(s.ast) {
		if isCall(call, "time", "Now", "Since", "Until") {
			wrong = append(wrong, fmt.Sprintf("%s: %s reads the clock", s.at(call), s.room()))
		}
	}
	return wrong
}

func TestSettingsComeFromConfig(t *testing.T) {
	hold(t, environment, "a variable that is read elsewhere is in no help text, no settings page and no env file. Add a field to internal/config")
	catches(t, environment, "internal/signal/x.go", `var x = os.Getenv("X")`, true)
	catches(t, environment, "internal/config/x.go", `var x = os.Getenv("X")`, false)
}

func environment(s source) (wrong []string) {
	if s.room() == "config" || strings.HasPrefix(s.room(), "cmd/") {
		return nil
	}
	for call := range calls(s.ast) {
		if isCall(call, "os", "Getenv", "LookupEnv", "Environ") {
			wrong = append(wrong, s.at(call)+": reads the environment")
		}
	}
	return wrong
}

func TestNothingPrivateIsLogged(t *testing.T) {
	hold(t, private, "a log is read by more people than the messages are. Above debug it names things by id")
	catches(t, private, "x.go", `func f() { log.Info("sent", "text", m.Text) }`, true)
	catches(t, private, "x.go", `func f() { s.Log.WarnContext(ctx, "x", slog.String("token", v)) }`, true)
	catches(t, private, "x.go", `func f() { log.Debug("sent", "text", m.Text) }`, false)
	catches(t, private, "x.go", `func f() { log.Info("token", "agent", a) }`, false) // a message, not a key
}

func private(s source) (wrong []string) {
	for call := range calls(s.ast) {
		keys, isLog := logKeys(call)
		for _, key := range keys {
			if isLog && slices.Contains([]string{"text", "content", "body", "token", "secret", "password", "number", "line"}, key) {
				wrong = append(wrong, fmt.Sprintf("%s: logs %q above debug", s.at(call), key))
			}
		}
	}
	return wrong
}

// logKeys returns the literal strings of a call that logs above debug, without
// its message: keys, for a value is hardly ever a literal.
func logKeys(call *ast.CallExpr) (keys []string, isLog bool) {
	level, ok := logLevel(call)
	if !ok || level == "Debug" {
		return nil, false
	}
	for _, arg := range call.Args[1:] {
		ast.Inspect(arg, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				key, _ := strconv.Unquote(lit.Value)
				keys = append(keys, key)
			}
			return true
		})
	}
	return keys, true
}

// logLevel returns at which level a call logs, if it does: a method of that
// name on something that is called a log.
func logLevel(call *ast.CallExpr) (level string, ok bool) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return "", false
	}
	name := ""
	switch x := sel.X.(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		name = x.Sel.Name
	}
	level = strings.TrimSuffix(sel.Sel.Name, "Context")
	return level, strings.Contains(strings.ToLower(name), "log") && slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, level)
}

func TestLogMessagesAreConstant(t *testing.T) {
	hold(t, constant, "a message that is put together cannot be searched for or counted. Put what varies under a key")
	catches(t, constant, "x.go", `func f() { log.Info("agent " + a) }`, true)
	catches(t, constant, "x.go", `func f() { log.Info(fmt.Sprintf("agent %s", a)) }`, true)
	catches(t, constant, "x.go", `func f() { log.Info("agent arrived", "agent", a) }`, false)
}

func constant(s source) (wrong []string) {
	for call := range calls(s.ast) {
		if _, ok := logLevel(call); !ok {
			continue
		}
		msg := call.Args[0]
		if name := call.Fun.(*ast.SelectorExpr).Sel.Name; strings.HasSuffix(name, "Context") && len(call.Args) > 1 {
			msg = call.Args[1]
		}
		if _, ok := msg.(*ast.BasicLit); !ok {
			wrong = append(wrong, s.at(call)+": the message is not a literal")
		}
	}
	return wrong
}

func TestErrorsSayWhatWasTried(t *testing.T) {
	hold(t, failedTo, `"failed to" says nothing that an error does not, and piles up when errors are wrapped. Say what was tried: "read x: …"`)
	catches(t, failedTo, "x.go", `var err = errors.New("failed to read")`, true)
	catches(t, failedTo, "x.go", `var err = errors.New("read x: gone")`, false)
}

func failedTo(s source) (wrong []string) {
	for call := range calls(s.ast) {
		if !isCall(call, "errors", "New") && !isCall(call, "fmt", "Errorf") && !isCall(call, "hub", "Errorf") {
			continue
		}
		for _, arg := range call.Args {
			if lit, ok := arg.(*ast.BasicLit); ok && strings.Contains(strings.ToLower(lit.Value), "failed to ") {
				wrong = append(wrong, s.at(lit)+": "+lit.Value)
			}
		}
	}
	return wrong
}

func TestFilesAndFunctionsFitInTheHead(t *testing.T) {
	const why = "what does not fit on a few screens is read in part and changed by guess. Split it where a sentence could name the part"
	hold(t, tooLong, why)
	for _, s := range sources(t) {
		if n := s.lines(s.ast); n > 400 {
			t.Logf("%s has %d lines; about 400 is the aim", s.path, n)
		}
		for f := range funcs(s.ast) {
			if n := s.lines(f); n > 60 {
				t.Logf("%s: %s has %d lines; 60 is the aim", s.at(f), f.Name.Name, n)
			}
		}
	}
	catches(t, tooLong, "x.go", "func f() {"+strings.Repeat("\n", 80)+"}", true)
	catches(t, tooLong, "x.go", "func f() {"+strings.Repeat("\n", 79)+"}", false)
	catches(t, tooLong, "x.go", strings.Repeat("\n", 500)+"var x = 1", true)
}

func tooLong(s source) (wrong []string) {
	if n := s.lines(s.ast); n > 500 {
		wrong = append(wrong, fmt.Sprintf("%s has %d lines, more than 500", s.path, n))
	}
	for f := range funcs(s.ast) {
		if n := s.lines(f); n > 80 {
			wrong = append(wrong, fmt.Sprintf("%s: %s has %d lines, more than 80", s.at(f), f.Name.Name, n))
		}
	}
	return wrong
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		documented[s.pkg()] = documented[s.pkg()] || s.ast.Doc != nil
	}
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment\n\twhy: a reader must learn its purpose and its one rule before its code", pkg)
		}
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	hold(t, undocumented, "an exported name is a promise to the other rooms; its comment is where units, limits, zero values and errors are")
	catches(t, undocumented, "x.go", "func F() {}", true)
	catches(t, undocumented, "x.go", "type T struct{}", true)
	catches(t, undocumented, "x.go", "const (\nA = 1\n)", true)
	catches(t, undocumented, "x.go", "// The numbers.\nconst (\nA = 1\nB = 2\n)", false)
	catches(t, undocumented, "x.go", "// T is.\ntype T struct{}\nfunc (T) String() string { return \"\" }", false)
	catches(t, undocumented, "x.go", "type t struct{}\nfunc (t) F() {}", false)
}

// plain are methods whose name says all, because the standard library does.
var plain = []string{"String", "Error", "Unwrap", "Is", "Read", "Write", "Close", "Len", "Less", "Swap", "ServeHTTP"}

func undocumented(s source) (wrong []string) {
	for _, decl := range s.ast.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			method := d.Recv != nil && (slices.Contains(plain, d.Name.Name) || !ast.IsExported(receiver(d)))
			if d.Name.IsExported() && d.Doc == nil && !method {
				wrong = append(wrong, fmt.Sprintf("%s: %s has no comment", s.at(d), d.Name.Name))
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if name := exported(spec); name != "" && d.Doc == nil && !commented(spec) {
					wrong = append(wrong, fmt.Sprintf("%s: %s has no comment", s.at(spec), name))
				}
			}
		}
	}
	return wrong
}

// exported returns a name that spec declares for others, if it does.
func exported(spec ast.Spec) string {
	switch sp := spec.(type) {
	case *ast.TypeSpec:
		if sp.Name.IsExported() {
			return sp.Name.Name
		}
	case *ast.ValueSpec:
		for _, n := range sp.Names {
			if n.IsExported() {
				return n.Name
			}
		}
	}
	return ""
}

func commented(spec ast.Spec) bool {
	switch sp := spec.(type) {
	case *ast.TypeSpec:
		return sp.Doc != nil || sp.Comment != nil
	case *ast.ValueSpec:
		return sp.Doc != nil || sp.Comment != nil
	}
	return true
}

// receiver returns the name of a method's type.
func receiver(f *ast.FuncDecl) string {
	typ := f.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
