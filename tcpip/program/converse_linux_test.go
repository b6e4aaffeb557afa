//go:build amd64 || arm64

package program

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/tcpip"
)

// conversations are programs that make system calls on loopback addresses, and print what they see.
// The kernel is the oracle: on the stack they print the same.
var conversations = map[string]func(*talker){
	"connect":             talkConnect,
	"connect later":       talkConnectLater,
	"refused":             talkRefused,
	"accept":              talkAccept,
	"accept waits":        talkAcceptWaits,
	"half close":          talkHalfClose,
	"reset by unread":     talkResetByUnread,
	"reset by linger":     talkResetByLinger,
	"reset after data":    talkResetAfterData,
	"reset after half":    talkResetAfterHalfClose,
	"data before close":   talkDataBeforeClose,
	"bind":                talkBind,
	"copies":              talkCopies,
	"options":             talkOptions,
	"both versions":       talkBothVersions,
	"backpressure":        talkBackpressure,
	"shutdown":            talkShutdown,
	"shared port":         talkSharedPort,
	"closed":              talkClosed,
	"datagrams":           talkDatagrams,
	"datagram errors":     talkDatagramErrors,
	"connected datagrams": talkConnectedDatagrams,
	"many datagrams":      talkManyDatagrams,
	"datagrams, close":    talkDatagramsBeforeClose,
	"huge counts":         talkHugeCounts,
	"packet info":         talkPacketInfo,
	"passed":              talkPassed,
	"interrupted":         talkInterrupted,
	"restarted":           talkRestarted,
	"restarted datagrams": talkRestartedDatagrams,
	"many connections":    talkManyConnections,
	"cork":                talkCork,
}

// monologues are programs whose output is compared with what a test expects.
var monologues = map[string]func(*talker){
	"refused calls": talkRefusedCalls,
	"receives":      talkReceives,
	"many":          talkMany,
	"unreachable":   talkUnreachable,
	"connect fails": talkConnectFails,
	"receives many": talkReceivesMany,
	"urgent":        talkUrgent,
	"restart":       talkRestartedConnect,
}

func converse(name string) {
	talk := conversations[name]
	if talk == nil {
		talk = monologues[name]
	}
	talk(&talker{})
}

// TestConversationsAreThoseOfTheKernel runs each conversation on the kernel's network and on a
// stack.
func TestConversationsAreThoseOfTheKernel(t *testing.T) {
	for name := range conversations {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			want, err := exec.Command(os.Args[0], "converse", name).CombinedOutput()
			if err != nil {
				t.Fatalf("on the kernel: %v\n%s", err, want)
			}
			got, status := runOnStack(t, Config{Command: []string{os.Args[0], "converse", name}, Refused: func(string) {}})
			if status != 0 {
				t.Errorf("got status %d, want 0", status)
			}
			if got != string(want) {
				t.Errorf("got what differs from the kernel:\n%s", lineDifference(got, string(want)))
			}
		})
	}
}

// lineDifference shows lines beside those that were wanted.
func lineDifference(got, want string) string {
	var all []string
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		a, b := "", ""
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			all = append(all, fmt.Sprintf("line %d: got %q, want %q", i+1, a, b))
		}
	}
	return strings.Join(all, "\n")
}

// newStack returns a stack that has only its loopback.
func newStack(t *testing.T) *tcpip.Stack {
	t.Helper()
	s, err := tcpip.New(tcpip.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// runOnStack runs a program on a stack of its own, and returns what it has printed and its status.
func runOnStack(t *testing.T, c Config) (out string, status int) {
	t.Helper()
	p, output := startOnStack(t, c)
	status, err := p.Wait()
	if err != nil {
		t.Errorf("got the error %v, want none", err)
	}
	return output(), status
}

// startOnStack starts a program. output returns what it has printed until its end.
func startOnStack(t *testing.T, c Config) (p *Program, output func() string) {
	t.Helper()
	if c.Stack == nil {
		c.Stack = newStack(t)
	}
	f, err := os.CreateTemp(t.TempDir(), "output")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	c.Files[1], c.Files[2] = f, f
	if c.Self == nil {
		c.Self = []string{os.Args[0], "guard"}
	}
	if c.Refused == nil {
		c.Refused = func(line string) { t.Errorf("got the refusal %q, want none", line) }
	}
	if p, err = Start(c); err != nil {
		t.Fatal(err)
	}
	return p, func() string {
		text, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// talker makes system calls and prints what they return.
type talker struct{}

func (t *talker) say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// did prints what a call has returned.
func (t *talker) did(what string, err error) {
	if err == nil {
		t.say("%s: ok", what)
		return
	}
	if errno, ok := err.(unix.Errno); ok {
		t.say("%s: %s", what, unix.ErrnoName(errno))
		return
	}
	t.say("%s: %v", what, err)
}

// must ends the conversation at an error of what is not under test.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var (
	local4 = &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	local6 = &unix.SockaddrInet6{Addr: [16]byte{15: 1}}
)

func (t *talker) socket(kind int) int {
	return must(unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0))
}

// listen returns a listener at the loopback address, and its address.
func (t *talker) listen() (int, *unix.SockaddrInet4) {
	l := t.socket(unix.SOCK_STREAM)
	must(0, unix.Bind(l, local4))
	must(0, unix.Listen(l, 8))
	return l, must(unix.Getsockname(l)).(*unix.SockaddrInet4)
}

// pair returns both ends of a connection.
func (t *talker) pair() (client, server int) {
	l, at := t.listen()
	client = t.socket(unix.SOCK_STREAM)
	must(0, unix.Connect(client, at))
	server, _, err := unix.Accept(l)
	must(0, err)
	unix.Close(l)
	return client, server
}

// eventNames are those of poll that are compared. That of the end of the peer's stream comes along
// with POLLIN.
var eventNames = []struct {
	bit  int16
	name string
}{{unix.POLLIN, "IN"}, {unix.POLLOUT, "OUT"}, {unix.POLLERR, "ERR"}, {unix.POLLHUP, "HUP"}, {unix.POLLRDHUP, "RDHUP"}}

// poll waits for one of the events, and prints what is ready then. On a stack, a socket that has
// failed is an end of a pair of Unix sockets, which has its error a moment before it is writable:
// poll waits for that, too.
func (t *talker) poll(what string, fd int, events int16) {
	p := []unix.PollFd{{Fd: int32(fd), Events: events}}
	n, err := unix.Poll(p, 3000)
	for err == unix.EINTR || err == nil && p[0].Revents&unix.POLLERR != 0 && events&unix.POLLOUT&^p[0].Revents != 0 {
		n, err = unix.Poll(p, 3000)
	}
	t.say("%s: %d ready: %s", what, n, eventText(p[0].Revents))
}

// ready prints what is ready now.
func (t *talker) ready(what string, fd int) {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLOUT | unix.POLLRDHUP}}
	must(unix.Poll(p, 0))
	t.say("%s: %s", what, eventText(p[0].Revents))
}

func eventText(of int16) string {
	var names []string
	for _, e := range eventNames {
		if of&e.bit != 0 {
			names = append(names, e.name)
		}
	}
	return strings.Join(names, "|")
}

func (t *talker) read(what string, fd int) {
	b := make([]byte, 64)
	n, err := unix.Read(fd, b)
	for err == unix.EINTR {
		n, err = unix.Read(fd, b)
	}
	if err != nil {
		t.did(what, err)
		return
	}
	t.say("%s: %q", what, b[:n])
}

func (t *talker) write(what string, fd int, text string) {
	n, err := unix.SendmsgN(fd, []byte(text), nil, nil, unix.MSG_NOSIGNAL)
	if err != nil {
		t.did(what, err)
		return
	}
	t.say("%s: %d", what, n)
}

func (t *talker) option(what string, fd, level, name int) {
	v, err := unix.GetsockoptInt(fd, level, name)
	if err != nil {
		t.did(what, err)
		return
	}
	t.say("%s: %d", what, v)
}

// address prints an address; the port only if it is a known one.
func (t *talker) address(what string, a unix.Sockaddr, err error, ports ...int) {
	if err != nil {
		t.did(what, err)
		return
	}
	name := func(port int) string {
		if i := slices.Index(ports, port); i >= 0 {
			return fmt.Sprintf("port %d of those", i)
		}
		if port == 0 {
			return "no port"
		}
		return "a port"
	}
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		t.say("%s: %v, %s", what, a.Addr, name(a.Port))
	case *unix.SockaddrInet6:
		t.say("%s: %v, %s", what, a.Addr, name(a.Port))
	default:
		t.say("%s: %T", what, a)
	}
}

func nonblocking(fd int) { must(0, unix.SetNonblock(fd, true)) }

// pause gives what was sent time to arrive at the other end, before a call that does not wait.
func pause() { time.Sleep(100 * time.Millisecond) }
