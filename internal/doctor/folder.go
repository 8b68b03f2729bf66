package doctor

import (
	"fmt"
	"strings"
)

// Room on the disk, in bytes.
const (
	scarce = 64 << 20 // the record may not fit any more
	little = 512 << 20
)

func (f Facts) folder() []Result {
	s := f.Folder
	switch {
	case s.Path == "":
		return []Result{skip("folder", "the settings name none")}
	case s.Missing:
		return []Result{ok("folder", s.Path+" is not there yet; aldis serve makes it"), s.record()}
	case s.Why != "":
		return []Result{fail("folder", "it cannot be looked at: "+s.Why, "run aldis doctor as the user of the hub, or name its folder: --state-dir (ALDIS_STATE_DIR)")}
	}
	return []Result{s.writable(), s.closed(), s.room(), s.record()}
}

func (s Folder) writable() Result {
	const name = "folder"
	switch {
	case s.Owner != "":
		return fail(name, fmt.Sprintf("%s belongs to %s, who is not who runs this", s.Path, s.Owner), "run aldis doctor, and aldis serve, as "+s.Owner+"; or: sudo chown -R \"$USER\" "+quote(s.Path))
	case s.Unusable != "":
		return fail(name, "nothing can be written in "+s.Path+": "+s.Unusable, "chmod u+rwx "+quote(s.Path)+"; or name another folder: --state-dir (ALDIS_STATE_DIR)")
	default:
		return ok(name, s.Path)
	}
}

// closed says whether others can read what is kept: messages, and tokens that
// make whoever has them the admin.
func (s Folder) closed() Result {
	const name = "privacy"
	switch {
	case s.Mode == 0:
		return skip(name, "who can read files is not looked at on this system")
	case len(s.Open) > 0:
		return fail(name, "others on this machine can read "+strings.Join(s.Open, ", "), "chmod go= "+quote(s.Path)+" "+quote(s.Open...))
	case s.Mode&0o077 != 0:
		return warn(name, fmt.Sprintf("%s is open to others (mode %04o), though its files are not", s.Path, s.Mode), "chmod go= "+quote(s.Path))
	default:
		return ok(name, "its owner alone can read it")
	}
}

func (s Folder) room() Result {
	const name = "disk"
	says := fmt.Sprintf("%d MiB are free", s.Free>>20)
	mend := "make room, or bound the record: --retain, --retain-bytes"
	switch {
	case s.Free == 0:
		return skip(name, "it is not known how much is free")
	case s.Free < scarce:
		return fail(name, says+": messages may not be kept", mend)
	case s.Free < little:
		return warn(name, says, mend)
	default:
		return ok(name, says)
	}
}

func (s Folder) record() Result {
	const name = "record"
	switch {
	case s.Off:
		return skip(name, "nothing is to be kept (--record off)")
	case s.NoRecord != "":
		return fail(name, s.NoRecord, "name another file, or one that is not there yet: --db (ALDIS_DB)")
	case s.ReadOnly != "":
		return fail(name, s.Record+" cannot be written: "+s.ReadOnly, "give the hub's user the right to write it and its folder, or name another file: --db (ALDIS_DB)")
	default:
		return ok(name, s.Record)
	}
}

// quote writes words so that a shell takes each for one.
func quote(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if quoted[i] = w; w == "" || strings.ContainsAny(w, " '\"$`\\*?;&|<>()[]{}#!~\t") {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func (f Facts) access() []Result {
	const name = "who comes in"
	switch a := f.Access; {
	case !f.Settings.Operator && a.Policy == "" && a.Trouble == "":
		return []Result{skip(name, "there is no Signal account that people could write to")}
	case a.Trouble != "":
		return []Result{fail(name, "nobody but the operator: "+a.Trouble, "mend the file by hand; the hub reads it again by itself")}
	case a.Policy == "":
		return []Result{skip(name, "it is not known")}
	case a.Policy == "disabled":
		return append(a.moved(), warn(name, "nobody but the operator: the policy is disabled", "aldis access policy allowlist"))
	default:
		return append(a.moved(), ok(name, "the policy is "+a.Policy))
	}
}

// moved names the numbers that passed to somebody else, who is kept out.
func (a Access) moved() (list []Result) {
	for _, n := range a.Moved {
		list = append(list, warn("moved", n+" was let in, and is somebody else's number now, who is kept out", "aldis access rebind NUMBER accepts them (aldis status shows it whole), aldis access remove NUMBER forgets it"))
	}
	return list
}

func (f Facts) history() []Result {
	const name = "key"
	switch h := f.History; {
	case h.Folder == "" && !h.Wanted:
		return []Result{skip(name, "Signal Desktop is not on this machine")}
	case !h.Wanted:
		return []Result{skip(name, "Signal Desktop is at "+h.Folder+"; its history is not served (aldis history, aldis serve --history)")}
	case h.Key != "":
		return []Result{fail(name, "Signal Desktop's history is to be served, and cannot be opened: "+h.Key, "docs/history.md says where the key is looked for; --history-key (ALDIS_HISTORY_KEY) names it")}
	default:
		return []Result{ok(name, "it was found")}
	}
}
