//go:build !windows

package demo

import "os"

// interrupt asks p to end in order.
func interrupt(p *os.Process) { _ = p.Signal(os.Interrupt) }
