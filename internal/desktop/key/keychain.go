package key

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// exitNotFound is with what macOS' security ends when there is no such item:
// the last byte of errSecItemNotFound.
const exitNotFound = 44

// keychain returns the password that Signal has in the Keychain of macOS. The
// tool there asks the user whether this program may have it.
func keychain(ctx context.Context, security string) ([]byte, error) {
	password, err := genericPassword(ctx, security, "-a", "Signal Key") // as Electron names the account
	if exitCode(err) == exitNotFound {
		password, err = genericPassword(ctx, security)
	}
	switch {
	case err == nil:
		return password, nil
	case ctx.Err() != nil:
		err = ctx.Err()
	case exitCode(err) == exitNotFound:
		return nil, errNoItem
	}
	return nil, fmt.Errorf("%s find-generic-password: %w; unlock the Keychain and allow what it asks", security, err)
}

// genericPassword runs the tool. Its error holds nothing that the tool wrote.
func genericPassword(ctx context.Context, security string, account ...string) ([]byte, error) {
	args := append([]string{"find-generic-password", "-w", "-s", "Signal Safe Storage"}, account...)
	cmd := exec.CommandContext(ctx, security, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		clear(out)
		return nil, err
	}
	return bytes.TrimSuffix(out, []byte("\n")), nil
}

func exitCode(err error) int {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return 0
	}
	return exit.ExitCode()
}
