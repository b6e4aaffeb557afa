//go:build amd64 || arm64

package program

import (
	"net/netip"
	"os/exec"
	"testing"

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
