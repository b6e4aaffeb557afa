package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A stream whose lengths are wrong is closed with one line that says why, and the next machine is
// served.
func TestHostileLengthsEndOneMachineOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vm.sock")
	c := natCommand(t, "nat", "--socket", path, "--mtu", "1500")
	said := startSaying(t, c, "waiting for a virtual machine")
	length := func(n uint32) string { return string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) }
	for _, hostile := range []struct{ name, stream, want string }{
		{"length 0", length(0), "a message of 0 bytes"},
		{"the largest length", length(1<<32 - 1), "a message of 4294967295 bytes"},
		{"more than the MTU", length(1600), "a message of 1600 bytes"},
		{"a cut length", "\x00\x00", "unexpected EOF"},
		{"a cut frame", length(100) + "short", "unexpected EOF"},
		{"a frame without a header", length(1) + "x" + length(0), "a message of 0 bytes"},
	} {
		before := len(said.String())
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatalf("%s: got %v, want the socket to be served", hostile.name, err)
		}
		conn.Write([]byte(hostile.stream)) //nolint:errcheck // the error message shows it
		if strings.Contains(hostile.want, "EOF") {
			conn.(*net.UnixConn).CloseWrite() //nolint:errcheck // the error message shows it
		}
		waitFor(t, hostile.name+" is reported", func() bool { return strings.Contains(said.String()[before:], hostile.want) })
		waitFor(t, hostile.name+" is closed", func() bool {
			_, err := conn.Read(make([]byte, 4096))
			return err != nil
		})
		conn.Close()
		if got := said.String()[before:]; strings.Count(got, "\n") != 2 {
			t.Errorf("%s: got %q, want two lines: a machine is there, and why it ended", hostile.name, got)
		}
	}
	before := len(said.String())
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the next machine is served", func() bool { return strings.Contains(said.String()[before:], "a virtual machine is there") })
	conn.Close()
	c.Process.Signal(os.Interrupt) //nolint:errcheck // Wait shows it
	if err := c.Wait(); err != nil {
		t.Errorf("after SIGINT: got %v, want a clean end: %s", err, said)
	}
	if got := said.String()[before:]; strings.Count(got, "\n") != 1 {
		t.Errorf("a machine that ends: got %q, want no line about its end", got)
	}
}
