package signal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"aldis/internal/hub"
)

// CodeLife is how long a code can be scanned: signal-cli waits no longer for
// the phone. Signal's servers may give up somewhat earlier.
const CodeLife = 100 * time.Second

var (
	// ErrOneAccount means that the daemon was started for one account (-a):
	// it neither tells which, nor links another.
	ErrOneAccount = errors.New("signal-cli was started for one account, and neither tells which nor links another")

	// ErrExpired means that the code was not scanned in time.
	ErrExpired = errors.New("the code was not scanned in time")
)

// A Linker links accounts to a daemon (methods startLink and finishLink of
// signal-cli-jsonrpc(5)). What comes for the daemon's accounts while it is open
// may come to it alone, and is lost: it is not for a daemon that a hub will be
// joined to any moment.
type Linker struct {
	Version string // of signal-cli

	conn  *conn
	close context.CancelFunc
	parts *errgroup.Group
}

// OpenLinker connects to the daemon at an address ("HOST:PORT" or "unix:/PATH"),
// until Close or the end of ctx. It fails if that does not tell its version.
func OpenLinker(ctx context.Context, address string) (*Linker, error) {
	nc, err := (&Client{Address: address}).dialDaemon(ctx)
	if err != nil {
		return nil, err
	}
	l := newLinker(ctx, nc)
	var v struct {
		Version string `json:"version"`
	}
	if err := ask(ctx, l.conn, answerTimeout, "version", params{}, &v); err != nil {
		l.Close()
		return nil, fmt.Errorf("what listens at %s does not answer as a signal-cli daemon does: %w", address, err)
	}
	l.Version = v.Version
	return l, nil
}

func newLinker(ctx context.Context, nc net.Conn) *Linker {
	ctx, cancel := context.WithCancel(ctx)
	parts, ctx := errgroup.WithContext(ctx)
	n := &conn{
		nc: nc, out: make(chan *call), done: ctx.Done(), open: make(map[uint64]*call),
		arrive: func(arrival) {}, skip: func(error) {},
	}
	context.AfterFunc(ctx, func() { nc.Close() })
	parts.Go(n.read)
	parts.Go(func() error { return n.write(ctx) })
	return &Linker{conn: n, close: cancel, parts: parts}
}

// Close ends the connection.
func (l *Linker) Close() {
	l.close()
	_ = l.parts.Wait() // that it has ended
	l.conn.end()
}

// Accounts returns the numbers that are linked to the daemon, or ErrOneAccount.
func (l *Linker) Accounts(ctx context.Context) ([]string, error) {
	var accounts []address
	err := ask(ctx, l.conn, answerTimeout, "listAccounts", params{}, &accounts)
	if errors.Is(err, errNoMethod) {
		return nil, ErrOneAccount
	}
	var numbers []string
	for _, a := range accounts {
		numbers = append(numbers, a.Number)
	}
	return numbers, err
}

// Start returns what a phone has to scan: an address that stands for the
// daemon's key, good for at most [CodeLife]. Whose phone scans it first has the
// daemon, so nobody else is to see it that long. It fails with ErrOneAccount too.
func (l *Linker) Start(ctx context.Context) (uri string, err error) {
	var v struct {
		URI string `json:"deviceLinkUri"`
	}
	err = ask(ctx, l.conn, answerTimeout, "startLink", params{}, &v)
	if errors.Is(err, errNoMethod) {
		return "", ErrOneAccount
	}
	if err == nil && v.URI == "" {
		err = errors.New("signal-cli has given no code to scan")
	}
	return v.URI, err
}

// Finish waits until a phone has scanned what Start returned, and returns the
// number of its account. The phone then shows the daemon under the name device.
// It fails with ErrExpired if the phone was late, and with a [hub.Conflict] if
// the account is linked already.
func (l *Linker) Finish(ctx context.Context, uri, device string) (number string, err error) {
	var v address
	err = ask(ctx, l.conn, CodeLife+answerTimeout, "finishLink", params{DeviceLinkURI: uri, DeviceName: device}, &v)
	if err == nil {
		return v.Number, nil
	}
	switch said := err.Error(); {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case strings.Contains(said, "timed out"), strings.Contains(said, "Connection closed"), errors.Is(err, errLate):
		return "", fmt.Errorf("%w (%w)", ErrExpired, err)
	case strings.Contains(said, "already exists"):
		return "", hub.Errorf(hub.Conflict, "that account is linked to this signal-cli already")
	default:
		return "", err
	}
}
