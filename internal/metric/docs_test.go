package metric

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/metrics.md anew")

const (
	metricsPage = "../../docs/metrics.md"
	tableHead   = "| family | type | labels | |\n|---|---|---|---|\n"
)

// The table of metrics is made of the registry, so that it can't say anything
// else. go test ./internal/metric -update writes it.
func TestMetricsPageIsCurrent(t *testing.T) {
	page, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), tableHead)
	_, after, ends := strings.Cut(rest, "\n\n")
	if !found || !ends {
		t.Fatal("docs/metrics.md has no table with text behind it")
	}
	want := before + tableHead + table(t) + "\n" + after
	if *update {
		if err := os.WriteFile(metricsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Error("docs/metrics.md is not current: go test ./internal/metric -update")
	}
}

func table(t *testing.T) string {
	t.Helper()
	families, err := busy().registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), namespace+"_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, "`"+l.GetName()+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()), strings.Join(labels, " "), f.GetHelp())
	}
	return b.String()
}
