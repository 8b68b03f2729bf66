package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// look parses a command line of aldis doctor. It never fails but for its flags.
func look(t *testing.T, args string, e env) *Doctor {
	t.Helper()
	all := env{"HOME": "/home/me", "USERPROFILE": "/home/me", "ALDIS_AUTH_TOKEN": "t"}
	maps.Copy(all, e)
	l := &Loader{Getenv: func(k string) string { return all[k] }}
	var c struct {
		Doctor struct{ Doctor }    `cmd:""`
		Send   struct{ HubSender } `cmd:""`
	}
	p, err := kong.New(&c, l.Options()...)
	if err == nil {
		_, err = p.Parse(strings.Fields("doctor " + args))
	}
	if err != nil {
		t.Fatal(err)
	}
	return &c.Doctor.Doctor
}

func TestDoctorIsToldWhatServeWouldRefuse(t *testing.T) {
	for _, tt := range []struct {
		name string
		args string
		env  env
		says []string // one for each
	}{
		{"nothing", "", nil, nil},
		{"no token", "", env{"ALDIS_AUTH_TOKEN": ""}, []string{"--auth-token"}},
		{"a variable that does not parse", "", env{"ALDIS_HOLD": "soon"}, []string{"ALDIS_HOLD"}},
		{"two", "--route-max-entries=0", env{"ALDIS_PORT": "x"}, []string{"ALDIS_PORT", "--route-max-entries"}},
		{"a file that is not there", "--env-file=/nowhere/x", nil, []string{"/nowhere/x"}},
		{"older names that differ", "", env{"SIGNAL_MCP_PORT": "1", "AGENT_SALON_PORT": "2"}, []string{"SIGNAL_MCP_PORT and AGENT_SALON_PORT"}},
		{"no home", "", env{"HOME": "", "USERPROFILE": ""}, []string{"--state-dir"}},
		{"no address of a hub", "--hub=here", nil, []string{"--hub"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wrong := look(t, tt.args, tt.env).Wrong()
			if len(wrong) != len(tt.says) {
				t.Fatalf("%v, want %q", wrong, tt.says)
			}
			for i, want := range tt.says {
				if !strings.Contains(wrong[i].Error(), want) {
					t.Errorf("%q does not say %q", wrong[i], want)
				}
			}
		})
	}
}

func TestDoctorHasTheSettingsOfServe(t *testing.T) {
	d := look(t, "--port=1", env{"ALDIS_OPERATOR": "+15551234567"})
	if d.URL != "http://127.0.0.1:1" || d.Account != "+15551234567" || d.DB != filepath.Join(d.StateDir, "aldis.db") {
		t.Errorf("%q, %q, %q", d.URL, string(d.Account), d.DB)
	}
}

func TestDoctorKnowsWhatTheFileSets(t *testing.T) {
	d := look(t, "--env-file="+write(t, "# a comment", "", "ALDIS_PORT=1", "nothing", "ALDIS_PROT=2", "=3"), nil)
	names, skipped := d.InFile()
	slices.Sort(names)
	if !slices.Equal(names, []string{"ALDIS_PORT", "ALDIS_PROT"}) || !slices.Equal(skipped, []int{4, 6}) {
		t.Errorf("names %q, skipped lines %v", names, skipped)
	}
	for _, name := range []string{"ALDIS_PORT", "AGENT_SALON_PORT", "ALDIS_TOKEN"} { // the last is another command's
		if !slices.Contains(d.Known(), name) {
			t.Errorf("%s is not known", name)
		}
	}
	if slices.Contains(d.Known(), "ALDIS_PROT") {
		t.Error("ALDIS_PROT is known")
	}
}
