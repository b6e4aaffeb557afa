//go:build amd64 || arm64

package program

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// talkMany opens connections and keeps them.
func talkMany(t *talker) {
	l, at := t.listen()
	must(0, unix.Listen(l, 4096))
	for range 500 {
		must(0, unix.Connect(t.socket(unix.SOCK_STREAM), at))
		_, _, err := unix.Accept(l)
		must(0, err)
	}
	t.say("open")
	t.read("read", 0)
}

// A connection whose ends are both the program's takes little memory here while it is idle.
func TestIdleConnectionsAreSmall(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p, output := startOnStack(t, Config{Command: []string{os.Args[0], "converse", "many"}, Files: [3]*os.File{in}})
	eventually(t, "all connections are open", func() bool { return output() == "open\n" })
	runtime.GC()
	runtime.ReadMemStats(&after)
	heap := float64(after.HeapAlloc-before.HeapAlloc) / 1000
	stacks := float64(after.StackInuse-before.StackInuse) / 1000
	t.Logf("a socket of 1,000 takes %.1f KB on the heap and %.1f KB of stacks", heap/1000, stacks/1000)
	if heap+stacks > 14e3 && !raced {
		t.Errorf("got %.0f KB for 1,000 sockets, want at most 14,000", heap+stacks)
	}
	out.Close()
	p.Wait() //nolint:errcheck // the output shows it
}
