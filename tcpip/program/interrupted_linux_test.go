//go:build amd64 || arm64

package program

import (
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/tcpip"
	"weir/tcpip/link"
)

// A signal without SA_RESTART interrupts connect: the attempt goes on, and poll reports its end.
func TestAConnectThatIsInterruptedFails(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	inside, outside := link.Pair(link.PairConfig{Medium: link.IP, MTU: 1500}) // no host answers
	defer outside.Close()
	s, err := tcpip.New(tcpip.Config{Link: inside, Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, status := runOnStack(t, Config{Stack: s, Command: []string{"timeout", "20", "python3", "-c", `
import signal, socket
signal.signal(signal.SIGALRM, lambda *_: print("signal"))
signal.setitimer(signal.ITIMER_REAL, 0.1)
s = socket.socket()
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_SYNCNT, 1)
try:
    s.connect(("192.0.2.2", 80))
except OSError as e:
    print(e.errno)
`}})
	if want := "signal\n110\n"; out != want || status != 0 {
		t.Errorf("got status %d and %q, want 0 and %q (ETIMEDOUT)", status, out, want)
	}
}

// talkRestartedConnect connects while signals interrupt its thread, whose handlers restart calls.
func talkRestartedConnect(t *talker) {
	l, at := t.listen()
	c, gone := t.socket(unix.SOCK_STREAM), &unix.SockaddrInet4{Addr: [4]byte{192, 0, 2, 2}, Port: 80}
	tid, result := make(chan int), make(chan error)
	go func() { // until connect has failed
		runtime.LockOSThread() // it ends with the goroutine
		tid <- unix.Gettid()
		result <- unix.Connect(c, gone)
	}()
	thread := <-tid
	for range 20 {
		time.Sleep(time.Millisecond)                    // it is restarted
		unix.Tgkill(unix.Getpid(), thread, unix.SIGURG) //nolint:errcheck // it runs
	}
	t.say("signals sent")
	t.did("connect", <-result)
	t.did("connect again", unix.Connect(c, gone))
	t.did("connect to a server", unix.Connect(c, at))
	nonblocking(l)
	t.poll("connected", l, unix.POLLIN)
	_, _, err := unix.Accept(l)
	t.did("accept", err)
}

// A connect that is restarted and fails leaves a socket that can connect again, as with Linux.
func TestAConnectThatIsRestartedFails(t *testing.T) {
	// no host answers at first
	inside, outside := link.Pair(link.PairConfig{Medium: link.IP, MTU: 1500})
	s, err := tcpip.New(tcpip.Config{Link: inside, Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p, output := startOnStack(t, Config{Stack: s, Command: []string{os.Args[0], "converse", "restart"}})
	eventually(t, "the signals are sent", func() bool { return strings.Contains(output(), "signals sent") })
	peer, err := tcpip.New(tcpip.Config{Link: outside, Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.2/24")}})
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	status, err := p.Wait()
	want := "signals sent\nconnect: ECONNREFUSED\nconnect again: ECONNREFUSED\nconnect to a server: ok\nconnected: 1 ready: IN\naccept: ok\n"
	if got := output(); got != want || status != 0 || err != nil {
		t.Errorf("got status %d, %v and %q, want 0 and %q", status, err, got, want)
	}
}
