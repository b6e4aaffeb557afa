package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is also the server that these tests compare: "sink ADDR DIR" receives bytes on
// every connection until it is ended; DIR only tells whose it is.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "sink" {
		sink(os.Args[2])
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(builtIn)
		os.Exit(code)
	}))
}

func sink(addr string) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		panic(err)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			defer c.Close()
			for b := make([]byte, 4096); ; {
				if _, err := c.Read(b); err != nil {
					return
				}
			}
		}()
	}
}

// the folder of the binary that tests built, for TestMain to remove; empty when none did
var builtIn string

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "weir-test")
	if err != nil {
		return "", err
	}
	builtIn = dir
	name := filepath.Join(dir, "weir")
	if out, err := exec.Command("go", "build", "-o", name, ".").CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return name, nil
})

// binary is weir, built once.
func binary(t *testing.T) string {
	t.Helper()
	name, err := build()
	if err != nil {
		t.Fatalf("go build of weir: got %v, want a binary", err)
	}
	return name
}
