package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"aldis/internal/config"
)

var update = flag.Bool("update", false, "write docs/settings.md anew")

const settingsPage = "../../docs/settings.md"

// The page of settings is made of the command line's own struct, so that it
// can't say anything else. go test ./cmd/aldis -update writes it.
func TestSettingsPageIsCurrent(t *testing.T) {
	parser, err := kong.New(&cli{}, append(new(config.Loader).Options(), kong.Name("aldis"))...)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# Settings\n\nA flag beats the environment, the environment beats the file (`--env-file`), the file beats the default.\n" +
		"Of several variables the first one counts; two of another program's that differ are an error. Lists in variables have commas.\n")
	for _, command := range parser.Model.Leaves(true) {
		fmt.Fprintf(&b, "\n## aldis %s\n\n%s\n\n| flag | variables | default | |\n|---|---|---|---|\n", command.Path(), command.Help)
		for _, f := range command.Flags {
			if !f.Hidden {
				fmt.Fprintf(&b, "| `--%s` | %s | %s | %s |\n", f.Name, code(config.Variables(f.Value)...), code(f.Default), strings.ReplaceAll(f.Help, "|", `\|`))
			}
		}
	}
	if *update {
		if err := os.WriteFile(settingsPage, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(settingsPage)
	if err != nil || string(page) != b.String() {
		t.Errorf("docs/settings.md is not current (%v): go test ./cmd/aldis -update", err)
	}
}

func code(list ...string) string {
	var out []string
	for _, s := range list {
		if s != "" {
			out = append(out, "`"+s+"`")
		}
	}
	return strings.Join(out, " ")
}
