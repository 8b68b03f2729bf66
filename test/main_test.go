// Package test has the stories of the hub, told against the real binary: with
// a fake signal-cli daemon on one side and real MCP clients on the other, all on
// the loopback address.
//
// Its one rule: a story sees only what a user sees. It starts the program,
// speaks its protocols and reads what it prints; it calls nothing inside.
package test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// binary is the program, built once a run.
var binary string

// hopVar makes the test's own program forward one TCP connection to the address
// in it, and do nothing else: the bare hop that benchmarks compare with.
const hopVar = "ALDIS_TEST_HOP"

func TestMain(m *testing.M) {
	if to := os.Getenv(hopVar); to != "" {
		if err := hop(to); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	// Stories wait most of the time: for a stream to prove itself, for a
	// session to be gone.
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("6")
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "aldis-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "aldis")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	args := append([]string{"build", "-buildvcs=false", "-o", binary}, raceFlags...)
	if out, err := exec.Command("go", append(args, "aldis/cmd/aldis")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// hop listens, prints where, and carries bytes from the first connection to
// the address to, until either ends.
func hop(to string) error {
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	in, err := ln.Accept()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := net.Dial("tcp", to)
	if err != nil {
		return err
	}
	defer out.Close()
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, make([]byte, 64<<10))
	return err
}
