// Package config holds the settings: structs whose fields are the flags of the
// command line, each with its variables and its default beside it, and the
// Loader that decides where a value comes from.
//
// Its one rule: a setting that does not parse, or cannot work with the others,
// is an error that names what to change; none is replaced by a default.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// envFileFlag is the one flag that the file itself cannot set.
const envFileFlag = "env-file"

// A Loader gives flags that are not on the command line their values: from the
// environment, else from the env file, else their default. It is for one parse.
//
// A flag names its variables in the tag vars, our own first: the rest are those
// of programs that Aldis replaces. (It does not use kong's tag env, because kong
// lets a resolver, which the file needs, win over the environment.)
type Loader struct {
	// set before use
	Getenv func(string) string // an empty value is none; nil: os.Getenv

	// Warnings says, after the parse, what is odd but no error.
	Warnings []string

	path    string            // of the env file
	file    map[string]string // nil: not read yet
	skipped []int             // lines of it that set nothing

	known    []string // variables that any flag of any command has
	tolerant bool     // what is wrong is noted, and stops nothing
	wrong    []error
}

// Options are what kong needs to load settings and show their variables in the
// help. They also bind the Loader, for the settings' own hooks.
func (l *Loader) Options() []kong.Option {
	return []kong.Option{kong.Resolvers(l), kong.Bind(l), kong.ValueFormatter(help), kong.WithBeforeApply(l.filled)}
}

// filled refuses a list without an entry, as --grant "$UNSET" is: to leave it
// out may mean the opposite. Kong calls it for each part of the command line.
func (l *Loader) filled(ctx *kong.Context, part *kong.Path) error {
	f := part.Flag
	if f == nil || part.Resolved || !f.IsSlice() || reflect.ValueOf(ctx.FlagValue(f)).Len() > 0 {
		return nil
	}
	return l.note(fmt.Errorf("--%s: the list is empty; leave the flag out for its default", f.Name))
}

// Variables returns the variables that set a flag or value, best first.
func Variables(v *kong.Value) []string {
	return strings.FieldsFunc(v.Tag.Get("vars"), func(r rune) bool { return r == ',' })
}

func help(v *kong.Value) string {
	text := kong.DefaultHelpValueFormatter(v)
	if vars := Variables(v); len(vars) > 0 {
		text = strings.TrimSuffix(text, ".") + " (" + strings.Join(vars, ", ") + ")."
	}
	return text
}

// Validate is part of kong.Resolver. It learns which variables there are.
func (l *Loader) Validate(app *kong.Application) error {
	l.known = nil
	return kong.Visit(app, func(node kong.Visitable, next kong.Next) error {
		if f, ok := node.(*kong.Flag); ok {
			l.known = append(l.known, Variables(f.Value)...)
		}
		return next(nil)
	})
}

// Resolve is part of kong.Resolver: it returns the value of a flag that is not
// on the command line, or nil for its default.
func (l *Loader) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	value, err := l.resolve(ctx, flag)
	return value, l.note(err)
}

// note returns err, or keeps it where what is wrong is only to be told.
func (l *Loader) note(err error) error {
	if err != nil && l.tolerant {
		l.wrong, err = append(l.wrong, err), nil
	}
	return err
}

func (l *Loader) resolve(ctx *kong.Context, flag *kong.Flag) (any, error) {
	vars := Variables(flag.Value)
	if len(vars) == 0 {
		return nil, nil
	}
	if err := l.readFile(ctx); err != nil {
		return nil, err
	}
	if flag.Name == envFileFlag {
		return l.path, nil
	}
	name, value, err := l.decide(flag, vars)
	if name == "" || err != nil {
		return nil, err
	}
	if flag.IsSlice() {
		value = strings.Join(splitList(value), ",")
	}
	if err := try(flag, value); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return value, nil
}

// decide returns which variable sets flag, and its value: any of the
// environment's before any of the file's.
func (l *Loader) decide(flag *kong.Flag, vars []string) (name, value string, err error) {
	for _, get := range []func(string) string{l.getenv, func(k string) string { return l.file[k] }} {
		set := slices.DeleteFunc(slices.Clone(vars), func(v string) bool { return get(v) == "" })
		if len(set) == 0 {
			continue
		}
		if len(set) > 1 && !strings.HasPrefix(set[0], "ALDIS_") && get(set[0]) != get(set[1]) {
			return "", "", fmt.Errorf("%s and %s are both set and differ; unset one of them, or set %s or --%s",
				set[0], set[1], vars[0], flag.Name)
		}
		return set[0], get(set[0]), nil
	}
	return "", "", nil
}

// try parses value as kong will, so that the error can name the variable.
func try(flag *kong.Flag, value string) error {
	if flag.Enum != "" && !slices.Contains(flag.EnumSlice(), value) {
		return fmt.Errorf("want one of %s, got %q", strings.Join(flag.EnumSlice(), ", "), value)
	}
	if value == "" {
		return errors.New("the list is empty")
	}
	scan := kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: value})
	target := reflect.New(flag.Target.Type()).Elem()
	return flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: scan}, target)
}

// splitList splits a list at its commas, without the blanks around entries.
func splitList(s string) (list []string) {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// readFile reads the env file the first time that it is called.
func (l *Loader) readFile(ctx *kong.Context) error {
	if l.file != nil {
		return nil
	}
	l.file = map[string]string{}
	var lenient bool
	l.path, lenient = l.envFile(ctx)
	if l.path == "" {
		return nil
	}
	b, err := os.ReadFile(l.path)
	switch {
	case err == nil:
		l.file, l.skipped = parseEnvFile(string(b))
		return nil
	case lenient && errors.Is(err, fs.ErrNotExist):
		l.Warnings = append(l.Warnings, fmt.Sprintf("AGENT_SALON_CONFIG names a file that does not exist: %s", l.path))
		l.path = ""
		return nil
	default:
		return fmt.Errorf("read the settings: %w", err)
	}
}

// envFile returns which file to read, and whether it may be missing: a package
// manager may have set the older variable for a file that nobody wrote.
func (l *Loader) envFile(ctx *kong.Context) (path string, lenient bool) {
	for _, p := range ctx.Path {
		if p.Flag != nil && p.Flag.Name == envFileFlag {
			path, _ = ctx.FlagValue(p.Flag).(string)
			return path, false
		}
	}
	if path = l.getenv("ALDIS_CONFIG"); path != "" {
		return path, false
	}
	return l.getenv("AGENT_SALON_CONFIG"), true
}

func (l *Loader) getenv(name string) string {
	if l.Getenv != nil {
		return l.Getenv(name)
	}
	return os.Getenv(name)
}

// parseEnvFile reads the format of seed agent-salon.md, section Config file:
// KEY=VALUE lines, comments after #, double quotes around a value. Lines
// without = or without a key are skipped; those that are no comments are
// counted, from 1. Of a key's lines the last counts.
func parseEnvFile(text string) (vars map[string]string, skipped []int) {
	vars = map[string]string{}
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		n++
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !ok || key == "" {
			skipped = append(skipped, n)
			continue
		}
		if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		vars[key] = value
	}
	return vars, skipped
}
