package main

import (
	"runtime/debug"
	"testing"
)

func TestWhereAVersionComesFrom(t *testing.T) {
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-12-01T00:00:00Z"}}
	for _, tt := range []struct {
		name   string
		linker build
		module string
		vcs    []debug.BuildSetting
		want   string
	}{
		{"a release: the linker's word", build{Version: "v1.2.3", Commit: "abc", Date: "2026-11-30T00:00:00Z"}, "v1.2.4-0.2026+dirty", vcs, "v1.2.3 (commit abc of 2026-11-30T00:00:00Z, go1, os/arch)"},
		{"go install of a tag: the module's", build{}, "v1.2.3", nil, "v1.2.3 (go1, os/arch)"},
		{"go build in a checkout", build{}, "(devel)", vcs, "devel-0123456789ab (commit 0123456789abcdef of 2026-12-01T00:00:00Z, go1, os/arch)"},
		{"go build of bare files", build{}, "(devel)", nil, "devel (go1, os/arch)"},
		{"a date that nobody knows", build{Commit: "abc"}, "(devel)", nil, "devel-abc (commit abc of an unknown day, go1, os/arch)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.linker
			b.Go, b.Platform = "go1", "os/arch"
			b.complete(&debug.BuildInfo{Main: debug.Module{Version: tt.module}, Settings: tt.vcs})
			if got := b.String(); got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}
