package doctor

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// staleAfter is how long nothing may come from signal-cli before that is told.
const staleAfter = 7 * 24 * time.Hour

func (f Facts) signal() []Result {
	d := f.Daemon
	if !f.Settings.Operator && !d.Joined && d.Fault == "" {
		return []Result{skip("signal-cli", "no operator is set (--operator, ALDIS_OPERATOR): there is no Signal account")}
	}
	if d.Fault != "" {
		list := []Result{d.fault()}
		if d.Process {
			list = append(list, d.mode())
		}
		return list
	}
	list := []Result{ok("signal-cli", d.what()), d.release(), d.account(), d.mode(), d.files()}
	if d.Joined {
		list = append(list, f.heard())
	}
	return list
}

func (d Daemon) what() string {
	s := "a daemon answers at " + d.Address
	if d.Java != "" {
		s += ", on Java " + d.Java
	}
	return s
}

// start is the command that runs a daemon as the hub needs it.
func (d Daemon) start() string {
	if path, ok := strings.CutPrefix(d.Address, "unix:"); ok {
		return "signal-cli -a NUMBER daemon --socket " + path + " --receive-mode on-connection"
	}
	return "signal-cli -a NUMBER daemon --tcp " + d.Address + " --receive-mode on-connection"
}

func (d Daemon) fault() Result {
	const name, elsewhere = "signal-cli", "; is it elsewhere, name it: --signal-cli (ALDIS_SIGNAL_CLI)"
	switch d.Fault {
	case NoSocket:
		return fail(name, "there is no socket at "+d.Address, d.start()+elsewhere)
	case NoRight:
		return fail(name, "the socket at "+d.Address+" may not be used by who runs this", "run both as one user, or give the hub's user the right to write that socket")
	case Refused:
		return fail(name, "nobody listens at "+d.Address, d.start()+elsewhere)
	case HTTP:
		return fail(name, "what is at "+d.Address+" speaks HTTP: the hub needs signal-cli's --tcp or --socket, not its --http, and no signal-cli-rest-api", d.start()+elsewhere)
	case NoDaemon:
		return fail(name, "what is at "+d.Address+" is no signal-cli daemon: "+d.Why, "name where signal-cli is: --signal-cli (ALDIS_SIGNAL_CLI)")
	case NoAnswer:
		return fail(name, "what is at "+d.Address+" takes connections and does not answer: it hangs, or is no signal-cli", "start signal-cli again; a client of it that does not read stops it for all")
	case NotAsked:
		r := skip(name, "the one at "+d.Address+" was not asked: what waits there for the hub would come here, and be lost")
		r.Mend = "have the hub run (aldis serve), and its admin token readable here: then it is the hub that is asked. If nothing waits: aldis doctor --ask-signal-cli"
		return r
	case HubOffline:
		return fail(name, "the hub is not joined to "+d.Address+": "+d.Why, d.start()+elsewhere)
	default:
		return fail(name, d.Address+" cannot be reached: "+d.Why, "look at --signal-cli (ALDIS_SIGNAL_CLI), and at what is between")
	}
}

// release says what is known of the daemon's version (signal-cli's change log).
func (d Daemon) release() Result {
	const name, mend = "version", "update signal-cli to the newest version (0.14.5 or later), and start it again"
	v, known := parseVersion(d.Version)
	less := func(a, b, c int) bool { return v.less(version{a, b, c}) }
	switch {
	case !known:
		return skip(name, fmt.Sprintf("%q is no version that is known here", d.Version))
	case less(0, 13, 19):
		return fail(name, d.Version+" is older than 0.13.19, the oldest that the hub was made for", mend)
	case v == version{0, 13, 20}, v == version{0, 13, 21}:
		return fail(name, d.Version+" has faults by which messages are not received", mend)
	case less(0, 14, 0):
		return warn(name, d.Version+" loses quotes, reactions and mentions of newer phones, so that replies do not find their agent, and cuts long texts", mend)
	case less(0, 14, 5):
		return warn(name, d.Version+" loses messages since Signal's servers changed in June 2026", mend)
	default:
		return ok(name, d.Version)
	}
}

type version [3]int

func parseVersion(s string) (v version, known bool) {
	s, _, _ = strings.Cut(s, "-")
	parts := strings.Split(s, ".")
	if len(parts) != len(v) {
		return v, false
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return v, false
		}
		v[i] = int(n)
	}
	return v, true
}

func (v version) less(w version) bool {
	for i := range v {
		if v[i] != w[i] {
			return v[i] < w[i]
		}
	}
	return false
}

func (d Daemon) account() Result {
	const name = "account"
	switch {
	case d.Missing && d.Accounts == 0:
		return fail(name, "signal-cli is linked to no account", "signal-cli link -n aldis, scan the code with the phone (Settings, Linked devices), and start the daemon again")
	case d.Missing:
		return fail(name, fmt.Sprintf("the hub's account is none of the %d that signal-cli has", d.Accounts), "name the one that is linked: --account (ALDIS_ACCOUNT); or link the hub's: signal-cli link -n aldis")
	case d.Accounts > 1:
		return ok(name, fmt.Sprintf("the hub's is one of the %d that signal-cli has; notices of the others are passed over", d.Accounts))
	case d.Accounts == 1:
		return ok(name, "the hub's is linked")
	default:
		return ok(name, "the daemon runs for one account, and does not say which")
	}
}

// mode says what is lost while the hub is away, which the daemon's own command
// line alone tells.
func (d Daemon) mode() Result {
	const name, mend = "receive mode", "start the daemon with --receive-mode on-connection"
	switch d.Mode {
	case "on-connection":
		return ok(name, "on-connection: what comes while the hub is away waits for it")
	case "on-start", "":
		if !d.Process {
			return skip(name, "it is not known; with on-connection what comes while the hub is away waits for it, with signal-cli's default it is lost")
		}
		return warn(name, "on-start: what comes while the hub is away is lost", mend)
	case "manual":
		return fail(name, "manual: the hub is told of no message", mend)
	default:
		return skip(name, d.Mode+" is no mode that is known here")
	}
}

func (d Daemon) files() Result {
	if d.Local {
		return ok("attachments", "files of up to 95 MiB can be sent")
	}
	return ok("attachments", "signal-cli is on another machine: files of up to 14 MiB can be sent (they go inside the request, and signal-cli hangs up on more), and files that come in are named but not there")
}

// heard says whether anything comes in at all: a daemon can be up and deaf.
func (f Facts) heard() Result {
	const name = "last notice"
	d := f.Daemon
	switch {
	case d.Paused:
		return fail(name, "sending is paused: Signal wants a captcha first, or fewer messages", "aldis status shows what to do")
	case d.Last.IsZero():
		return skip(name, "nothing has come since the hub was started; write to yourself to see something come")
	case f.Now.Sub(d.Last) > staleAfter:
		return warn(name, fmt.Sprintf("nothing has come for %d days", int(f.Now.Sub(d.Last).Hours()/24)), "write to yourself; if that does not come either, start signal-cli again")
	case d.Skipped > 0:
		return warn(name, fmt.Sprintf("%s ago; %d lines of the daemon could not be read", f.Now.Sub(d.Last).Round(time.Second), d.Skipped), "aldis serve --log-level debug shows why")
	default:
		return ok(name, f.Now.Sub(d.Last).Round(time.Second).String()+" ago")
	}
}
