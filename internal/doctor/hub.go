package doctor

import (
	"fmt"
	"strings"
	"time"
)

// maxSkew is how far two clocks may be apart: receipts and the order of
// messages are told in times of both.
const maxSkew = 10 * time.Second

func (f Facts) hub() []Result {
	h := f.Hub
	list := []Result{h.place()}
	if !h.up() {
		return list
	}
	return append(list, f.version(), h.ready(), f.sharedToken(), h.adminToken())
}

// place says what is at the hub's address.
func (h Hub) place() Result {
	const name = "address"
	switch h.Presence {
	case Ours:
		return ok(name, "a hub is at "+h.URL)
	case Refusing:
		return fail(name, "the hub at "+h.URL+" does not answer to that name: "+h.Why, "aldis serve --allowed-host "+hostOf(h.URL))
	case Foreign:
		return fail(name, "another program is at "+h.URL+": "+h.Why, "end that program, or give the hub another port: --port (ALDIS_PORT), here and for aldis serve")
	case Silent:
		return fail(name, h.URL+" cannot be reached: "+h.Why, "look at the address (--hub, --host, --port), and at what is between")
	case Unplaced:
		return skip(name, "the settings let the system choose the port; the log of aldis serve says which it is (aldis doctor --hub URL)")
	case Nobody:
		if h.Elsewhere != "" {
			return fail(name, "nobody is at "+h.URL+", but the hub of this state folder is at "+h.Elsewhere, "aldis doctor --hub "+h.Elsewhere+"; the clients need that address too")
		}
		return warn(name, h.URL+" is free: the hub does not run", "aldis serve")
	default:
		return skip(name, "the settings name no address that could be asked")
	}
}

func hostOf(url string) string {
	_, host, _ := strings.Cut(url, "://")
	host, _, _ = strings.Cut(host, "/")
	return host
}

func (f Facts) version() Result {
	const name = "version"
	switch {
	case f.Hub.Version == "":
		return skip(name, "the hub tells its version to its admin alone")
	case f.Hub.Version != f.Version:
		return warn(name, fmt.Sprintf("the hub that runs is %s, and this program is %s", f.Hub.Version, f.Version), "start the hub again with the program that you want, or call that one here")
	default:
		return ok(name, f.Version)
	}
}

func (h Hub) ready() Result {
	if h.NotReady != "" {
		return fail("ready", "the hub takes no messages now: "+h.NotReady, "see what is wrong below; aldis status shows more")
	}
	return ok("ready", "the hub takes messages")
}

func (f Facts) sharedToken() Result {
	const name, ask = "shared token", "aldis doctor --env-file FILE, with the file that the hub was started with; or set ALDIS_AUTH_TOKEN to what it was started with"
	switch f.Hub.Shared {
	case Accepted:
		if !f.Settings.Token {
			return ok(name, "the hub lets everybody on this machine in without one (--allow-unauthenticated)")
		}
		return ok(name, "the hub takes the one that is set here")
	case Unknown, WrongKind:
		return fail(name, "the hub does not take the one that is set here: it was started with another", ask)
	case NoToken:
		return warn(name, "none is set here, so it cannot be tried", ask)
	default:
		return skip(name, "it was not tried")
	}
}

func (h Hub) adminToken() Result {
	const name = "admin token"
	switch h.Admin {
	case Accepted:
		return ok(name, "the hub takes it")
	case NoToken:
		return fail(name, "it cannot be read, and sessions and signal-cli are not known therefore: "+h.AdminFile,
			"run aldis doctor as the user of the hub, with its state folder: --state-dir (ALDIS_STATE_DIR)")
	case Unknown, WrongKind:
		return fail(name, "the hub does not take the one that is here: its state folder is another one, or it was started with --admin-token",
			"name the hub's state folder: --state-dir (ALDIS_STATE_DIR); or set ALDIS_ADMIN_TOKEN")
	default:
		return skip(name, "it was not tried")
	}
}

// clock says whether the time can be right: what is too old or in the future
// is told by files, by this program's own age and by a hub elsewhere.
func (f Facts) clock() []Result {
	const name, mend = "time", "set the clock, best by NTP: timedatectl set-ntp true"
	switch skew := f.Hub.Skew; {
	case f.Now.Before(f.Built):
		return []Result{fail(name, "it is "+f.Now.UTC().Format(time.DateTime)+" by this clock, and this program is from later", mend)}
	case f.Folder.Newest.After(f.Now.Add(time.Minute)):
		return []Result{fail(name, "the record was written at "+f.Folder.Newest.UTC().Format(time.DateTime)+", which is to come by this clock: it was set back", mend)}
	case skew > maxSkew || skew < -maxSkew:
		return []Result{warn(name, fmt.Sprintf("the hub's clock is %s ahead of this one", skew), mend)}
	default:
		return []Result{ok(name, "nothing speaks against "+f.Now.UTC().Format(time.DateTime)+" UTC")}
	}
}
