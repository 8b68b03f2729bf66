package demo

import "os"

// interrupt ends p: there is no signal that asks it to.
func interrupt(p *os.Process) { _ = p.Kill() }
