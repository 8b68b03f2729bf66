package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// What a release was built from; the linker sets it (see .goreleaser.yaml). Else
// what the go command has noted counts.
var releaseVersion, releaseCommit, releaseDate string

type versionCmd struct {
	JSON bool `name:"json" help:"Print it as JSON."`
}

func (c versionCmd) Run(e env) error {
	b := thisBuild()
	if c.JSON {
		return json.NewEncoder(e.stdout).Encode(b)
	}
	_, err := fmt.Fprintln(e.stdout, "aldis", b)
	return err
}

// A build says which program this is.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"` // of the commit, RFC 3339
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// String is a build on one line.
func (b build) String() string {
	parts := []string{b.Go, b.Platform}
	if b.Commit != "" {
		parts = append([]string{"commit " + b.Commit + " of " + cmp.Or(b.Date, "an unknown day")}, parts...)
	}
	return b.Version + " (" + strings.Join(parts, ", ") + ")"
}

func version() string { return thisBuild().Version }

func thisBuild() build {
	b := build{Version: releaseVersion, Commit: releaseCommit, Date: releaseDate, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.complete(info)
	}
	return b
}

// complete fills in what the linker has not set.
func (b *build) complete(info *debug.BuildInfo) {
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = cmp.Or(b.Commit, s.Value)
		case "vcs.time":
			b.Date = cmp.Or(b.Date, s.Value)
		}
	}
	if v := info.Main.Version; v != "(devel)" {
		b.Version = cmp.Or(b.Version, v)
	}
	if b.Version == "" {
		b.Version = strings.TrimSuffix("devel-"+b.Commit[:min(12, len(b.Commit))], "-")
	}
}
