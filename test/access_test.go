package test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"aldis/internal/hubtest"
)

// carol knows the number of the hub, and nobody has let her in.
var carol = hubtest.DaemonContact{Number: "+15555550102", UUID: "ca201000-0000-4000-8000-000000000102", Name: "Carol"}

// mustAldis runs a command that must work, and returns what it prints.
func (h *hub) mustAldis(args ...string) string {
	h.t.Helper()
	got := h.aldis(args...)
	if got.code != 0 {
		h.t.Fatalf("aldis %s: exit code %d: %s", strings.Join(args, " "), got.code, got.stderr)
	}
	return got.stdout
}

// sentTo returns the texts that the hub has sent to somebody.
func sentTo(d *hubtest.Daemon, to string) (texts []string) {
	for _, r := range d.Requests("send") {
		if b, _ := json.Marshal(r.Params["recipient"]); strings.Contains(string(b), to) {
			texts = append(texts, fmt.Sprint(r.Params["message"]))
		}
	}
	return texts
}

var codes = regexp.MustCompile(`\b[A-Z]{6}\b`)

// TestPairing lets a stranger in by the code that they were told, over a
// restart; what they wrote before reaches nobody.
func TestPairing(t *testing.T) {
	t.Parallel()
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d, "--default-agent", "crush-signal")
	d.Receive(d.Text(carol, 1796070000001, "let me in", 0)) // nobody is told a code yet
	h.mustAldis("access", "policy", "pairing")
	a := h.connect("crush-signal")
	d.Receive(d.Text(carol, 1796070000002, "deploy now", 0))
	eventually(t, "carol is told a code", func() bool { return len(sentTo(d, carol.Number)) == 1 })
	d.Receive(d.Text(carol, 1796070000003, "please", 0))
	eventually(t, "carol is told it again", func() bool { return len(sentTo(d, carol.Number)) == 2 })
	told := sentTo(d, carol.Number)
	code := codes.FindString(told[0])
	if code == "" || told[0] != told[1] || strings.Contains(told[0], operator) {
		t.Fatalf("carol is told %q", told)
	}
	h.awaitFile("access.json", `"answers": 2`)

	h.kill()
	h.start()
	h.awaitReady()
	h.awaitPresence("crush-signal", true)
	if list := h.mustAldis("access", "list"); !strings.Contains(list, code) || !strings.Contains(list, "Carol") {
		t.Errorf("the list has no %s of Carol:\n%s", code, list)
	}
	d.Receive(d.Text(carol, 1796070000004, "yes abcde", 0)) // silence
	wrong := h.aldis("access", "pair", "ZZZZZZ")
	if wrong.code != 1 || !strings.Contains(wrong.stderr, "no open pairing has that code") {
		t.Errorf("a wrong code: %+v", wrong)
	}
	if done := h.mustAldis("access", "pair", strings.ToLower(code)); !strings.Contains(done, "Carol") {
		t.Errorf("pair prints %q", done)
	}
	eventually(t, "carol is told so", func() bool { return slices.Contains(sentTo(d, carol.Number), "You are let in.") })
	d.Receive(d.Text(carol, 1796070000005, "thanks", 0))
	eventually(t, "her next message arrives", func() bool { return slices.Contains(contents(a.got()), "thanks") })
	if got := contents(a.got()); len(got) != 1 {
		t.Errorf("the agent has %q", got)
	}
	if n := len(sentTo(d, carol.Number)); n != 3 {
		t.Errorf("carol was told %d things: %q", n, sentTo(d, carol.Number))
	}

	h.mustAldis("access", "remove", carol.UUID)
	h.mustAldis("access", "policy", "allowlist")
	d.Receive(d.Text(carol, 1796070000006, "and now", 0))
	d.Receive(d.Text(d.Contacts[0], 1796070000007, "the end", 0))
	if got := contents(a.await(2)); got[1] != "the end" {
		t.Errorf("the agent has %q", got)
	}
	wantQuiet(t, h, nil)
	if n := len(sentTo(d, carol.Number)); n != 3 {
		t.Errorf("who was removed is told something")
	}
}

// awaitFile waits until a file of the state folder has some text in it.
func (h *hub) awaitFile(name, text string) {
	h.t.Helper()
	eventually(h.t, name+" has "+text, func() bool {
		b, _ := os.ReadFile(filepath.Join(h.stateDir, name))
		return strings.Contains(string(b), text)
	})
}

// TestRecycledNumber has somebody else register the number of a trusted sender:
// they are kept out, until whoever runs the hub says that it is right so.
func TestRecycledNumber(t *testing.T) {
	t.Parallel()
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d, "--default-agent", "crush-signal", "--trusted-sender", bob)
	a := h.connect("crush-signal")
	thief := hubtest.DaemonContact{Number: bob, UUID: "eee00000-0000-4000-8000-000000000109", Name: "Bob"}
	d.Receive(d.Text(d.Contacts[1], 1796070000001, "from bob", 0))
	a.await(1)
	h.awaitFile("access.json", d.Contacts[1].UUID)
	h.kill()
	h.start()
	h.awaitReady()
	h.awaitPresence("crush-signal", true)
	d.Receive(d.Text(thief, 1796070000002, "from the thief", 0))
	h.awaitFile("access.json", `"moved"`)
	if s := h.mustAldis("status"); !strings.Contains(s, bob) || !strings.Contains(s, "rebind") {
		t.Errorf("status:\n%s", s)
	}
	if log := h.log.String(); !strings.Contains(log, "…01") {
		t.Errorf("the log does not say so:\n%s", log)
	}
	wantQuiet(t, h, nil)
	if got := h.aldis("access", "remove", bob); got.code != 1 || !strings.Contains(got.stderr, "--trusted-sender") {
		t.Errorf("remove: %+v", got)
	}
	h.mustAldis("access", "rebind", bob)
	d.Receive(d.Text(thief, 1796070000003, "from the new owner", 0))
	if got := contents(a.await(2)); got[1] != "from the new owner" {
		t.Errorf("the agent has %q", got)
	}
	if s := h.mustAldis("status"); strings.Contains(s, bob) {
		t.Errorf("status:\n%s", s)
	}
}

// TestGroupsInWhichAllIsHeard adds a group: then what trusted people say in it
// passes, and what others say does not.
func TestGroupsInWhichAllIsHeard(t *testing.T) {
	t.Parallel()
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d, "--default-agent", "crush-signal", "--trusted-sender", bob, "--mention-pattern", `\bhub\b`)
	a := h.connect("crush-signal")
	const id = "zFNrL+gz/+LssRB/OiIbwjblXx63iddHEZiepvunCiM="
	timestamp := int64(1796070000000)
	say := func(who hubtest.DaemonContact, text string) {
		timestamp++
		v := d.Text(who, timestamp, text, 0)
		v["dataMessage"].(map[string]any)["groupInfo"] = map[string]any{"groupId": id, "type": "DELIVER"}
		d.Receive(v)
	}
	say(d.Contacts[1], "to the others")
	say(carol, "Hub, deploy")
	say(d.Contacts[1], "Hub, is it up?")
	if got := contents(a.await(1)); got[0] != "Hub, is it up?" {
		t.Fatalf("the agent has %q", got)
	}
	spelled := strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(id)
	if done := h.mustAldis("access", "group", "add", "group:"+spelled); !strings.Contains(done, id) {
		t.Errorf("group add prints %q", done)
	}
	say(carol, "me too")
	say(d.Contacts[1], "to all")
	if got := contents(a.await(2)); got[1] != "to all" {
		t.Fatalf("the agent has %q", got)
	}
	h.mustAldis("access", "group", "rm", "group:"+id)
	say(d.Contacts[1], "to the others again")
	say(d.Contacts[1], "hub?")
	if got := contents(a.await(3)); got[2] != "hub?" {
		t.Fatalf("the agent has %q", got)
	}
}

// TestAccessByHand has access.json written by hand, well and badly.
func TestAccessByHand(t *testing.T) {
	t.Parallel()
	d := hubtest.NewDaemon(t)
	h := startSignalHub(t, d, "--default-agent", "crush-signal", "--trusted-sender", bob)
	a := h.connect("crush-signal")
	write := func(s string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(h.stateDir, "access.json"), []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"policy": "allowlist", "people": [{"platform": "signal", "id": "` + carol.Number + `", "name": "Carol"}]}`)
	eventually(t, "carol is in the list", func() bool { return strings.Contains(h.mustAldis("access", "list"), carol.Number) })
	d.Receive(d.Text(carol, 1796070000001, "from carol", 0))
	a.await(1)
	const broken = `{"policy": "allowlist", "people": [`
	write(broken)
	eventually(t, "status says so", func() bool { return strings.Contains(h.mustAldis("status"), "CLOSED") })
	d.Receive(d.Text(carol, 1796070000002, "from carol, the door closed", 0))
	d.Receive(d.Text(d.Contacts[1], 1796070000003, "from bob, the door closed", 0))
	d.Receive(d.Text(d.Contacts[0], 1796070000004, "from the operator", 0))
	if got := contents(a.await(2)); got[1] != "from the operator" {
		t.Errorf("the agent has %q", got)
	}
	h.awaitReady()
	if got := h.aldis("access", "policy", "pairing"); got.code != 1 || !strings.Contains(got.stderr, "mend") {
		t.Errorf("a change of a broken file: %+v", got)
	}
	if b, err := os.ReadFile(filepath.Join(h.stateDir, "access.json")); string(b) != broken {
		t.Errorf("the file is now %q, %v", b, err)
	}
}
