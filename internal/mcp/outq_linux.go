package mcp

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// unacknowledged returns how many bytes written to conn its peer's TCP has not
// acknowledged (tcp(7), SIOCOUTQ); false where that can't be told.
func unacknowledged(conn net.Conn) (n int, ok bool) {
	sc, is := conn.(syscall.Conn)
	if !is {
		return 0, false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return 0, false
	}
	err = raw.Control(func(fd uintptr) {
		n, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
		ok = err == nil
	})
	return n, ok && err == nil
}
