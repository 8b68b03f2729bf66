package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"aldis/internal/config"
	"aldis/internal/doctor"
	"aldis/internal/hub"
	"aldis/internal/signal"
)

// daemon asks the hub about signal-cli; signal-cli itself only where no hub is
// joined to it, and nothing that waits for the hub can be lost by that.
func (p *prober) daemon(ctx context.Context) {
	d := &p.facts.Daemon
	at, joined := p.SignalCLI, p.joined()
	if p.Operator == "" && joined == nil {
		return
	}
	if joined != nil {
		_ = at.UnmarshalText([]byte(joined.Address)) // the hub has it from such a setting
	}
	d.Address = at.String()
	d.Local = local(d.Address)
	if x := p.process; x != nil && d.Local {
		d.Process, d.Mode, d.Java = true, x.mode, x.java
	}
	if joined != nil && (joined.State == "connected" || joined.State == "paused") {
		d.Joined, d.Paused = true, joined.State == "paused"
		d.Version, d.Accounts, d.Missing = joined.Version, joined.Accounts, joined.Missing
		d.Last, d.Skipped = joined.Last, joined.Skipped
		return
	}
	if joined == nil && !p.AskSignalCLI {
		d.Fault = risk(ctx, *d, at)
	}
	if d.Fault == "" {
		p.askDaemon(ctx, at)
	}
	if joined != nil && d.Fault == "" {
		d.Fault, d.Why = doctor.HubOffline, hub.OneLine(joined.Detail, hub.PreviewBytes)
	}
}

// joined is what the running hub says of signal-cli; nil: nothing.
func (p *prober) joined() *hub.PlatformReport {
	if p.status == nil {
		return nil
	}
	i := slices.IndexFunc(p.status.Platforms, func(r hub.PlatformReport) bool { return r.Platform == signal.ID })
	if i < 0 {
		return nil
	}
	return &p.status.Platforms[i]
}

// local reports whether an address is of this machine alone.
func local(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return strings.HasPrefix(address, "unix:") || host == "localhost" || ip != nil && ip.IsLoopback()
}

// risk returns NotAsked where a connection of ours could take messages from
// the hub, or the fault where there is nothing to connect to. A daemon gives
// what waits to whoever connects first, unless it receives all the time.
func risk(ctx context.Context, d doctor.Daemon, at config.Address) doctor.Fault {
	switch {
	case d.Mode == "on-start" || d.Mode == "manual":
		return ""
	case at.Network == "unix":
		if _, err := os.Stat(at.Addr); err != nil {
			return fault(err)
		}
	case d.Local && runtime.GOOS == "linux": // elsewhere two may have one port
		ln, err := new(net.ListenConfig).Listen(ctx, "tcp", at.Addr)
		if err == nil { // nobody has it
			_ = ln.Close()
			return doctor.Refused
		}
	}
	return doctor.NotAsked
}

// fault tells why there is no connection.
func fault(err error) doctor.Fault {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return doctor.NoSocket
	case errors.Is(err, fs.ErrPermission):
		return doctor.NoRight
	case refused(err):
		return doctor.Refused
	default:
		return doctor.NoRoute
	}
}

// askDaemon connects for as long as two questions need.
func (p *prober) askDaemon(ctx context.Context, at config.Address) {
	d := &p.facts.Daemon
	nc, err := new(net.Dialer).DialContext(ctx, at.Network, at.Addr)
	if err != nil {
		d.Fault, d.Why = fault(err), reason(err)
		return
	}
	defer nc.Close()
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	defer stop()
	if end, ok := ctx.Deadline(); ok {
		_ = nc.SetDeadline(end.Add(-probeTime / 4)) // to tell what does not answer from what ends
	}
	lines := bufio.NewReader(io.LimitReader(nc, 64<<20))
	var v struct {
		Version string `json:"version"`
	}
	if d.Fault, d.Why = call(nc, lines, "1", "version", &v); d.Fault != "" {
		return
	}
	if d.Version = v.Version; d.Version == "" {
		d.Fault, d.Why = doctor.NoDaemon, "it does not tell its version"
		return
	}
	var accounts []account
	if f, _ := call(nc, lines, "2", "listAccounts", &accounts); f == "" && accounts != nil {
		d.Accounts = len(accounts)
		named := strings.HasPrefix(string(p.Account), "+") // a UUID is not in the list
		d.Missing = len(accounts) == 0 || named && !slices.Contains(accounts, account{string(p.Account)})
	}
}

// An account is one of listAccounts.
type account struct {
	Number string `json:"number"`
}

// call asks a daemon one thing, and reads the result into v, unless it refuses.
// What it says unasked is passed over.
func call(w io.Writer, lines *bufio.Reader, id, method string, v any) (doctor.Fault, string) {
	if _, err := io.WriteString(w, `{"jsonrpc":"2.0","id":"`+id+`","method":"`+method+`"}`+"\n"); err != nil {
		return doctor.NoDaemon, reason(err)
	}
	for {
		line, err := lines.ReadBytes('\n')
		var answer struct {
			Version string          `json:"jsonrpc"`
			ID      string          `json:"id"`
			Result  json.RawMessage `json:"result"`
		}
		switch {
		case bytes.HasPrefix(line, []byte("HTTP/")):
			return doctor.HTTP, ""
		case errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed):
			return doctor.NoAnswer, ""
		case err != nil:
			return doctor.NoDaemon, "it hangs up on a question"
		case json.Unmarshal(line, &answer) != nil || answer.Version != "2.0":
			return doctor.NoDaemon, "it does not speak JSON-RPC"
		case answer.ID == id && answer.Result != nil:
			_ = json.Unmarshal(answer.Result, v) // what is another shape is no answer
			return "", ""
		case answer.ID == id:
			return "", ""
		}
	}
}

// A process is a running signal-cli daemon, as its command line has it.
type process struct {
	mode string // in which it receives
	java string // version; empty: not known
}

// processes looks for the daemon among the processes, where the system shows
// them as files (Linux, proc(5)).
func (p *prober) processes(context.Context) {
	p.process = findDaemon("/proc", p.SignalCLI.Addr)
}

// findDaemon returns the daemon that listens at addr: the one that was given
// it, or the only one.
func findDaemon(proc, addr string) *process {
	lines, _ := filepath.Glob(filepath.Join(proc, "[0-9]*", "cmdline"))
	var found []*process
	for _, path := range lines {
		b, _ := os.ReadFile(path)
		args := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
		if !isDaemon(args) {
			continue
		}
		x := &process{receiveMode(args), javaVersion(filepath.Join(filepath.Dir(path), "exe"))}
		if slices.ContainsFunc(args, func(a string) bool {
			return strings.TrimPrefix(a, "--tcp=") == addr || strings.TrimPrefix(a, "--socket=") == addr
		}) {
			return x
		}
		found = append(found, x)
	}
	if len(found) == 1 {
		return found[0]
	}
	return nil
}

func isDaemon(args []string) bool {
	ofIt := func(a string) bool {
		return filepath.Base(a) == "signal-cli" || a == "org.asamk.signal.Main"
	}
	return slices.Contains(args, "daemon") && slices.ContainsFunc(args, ofIt)
}

// receiveMode is what a daemon was told, or what it does untold.
func receiveMode(args []string) string {
	for i, a := range args {
		if mode, ok := strings.CutPrefix(a, "--receive-mode="); ok {
			return mode
		}
		if a == "--receive-mode" && i+1 < len(args) {
			return args[i+1]
		}
	}
	return "on-start"
}

// javaVersion reads the file that every Java has beside the folder of its
// program.
func javaVersion(exe string) string {
	java, err := os.Readlink(exe)
	if err != nil || filepath.Base(java) != "java" {
		return ""
	}
	b, _ := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(java)), "release"))
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "JAVA_VERSION="); ok {
			return strings.Trim(v, `"`)
		}
	}
	return ""
}
