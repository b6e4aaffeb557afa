//go:build amd64 || arm64

package program

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refusals has what Config.Refused was called with.
type refusals struct {
	mu  sync.Mutex // guards all until the program has ended
	all []string
}

func (r *refusals) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, line)
}

// internetSocket returns a socket of the kernel's network.
func internetSocket(t *testing.T) *os.File {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// talkRefusedCalls makes calls that would reach the kernel's network.
func talkRefusedCalls(t *talker) {
	for _, s := range [][3]int{
		{unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP}, {unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6},
		{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP}, {unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP},
		{unix.AF_PACKET, unix.SOCK_RAW, 0}, {unix.AF_VSOCK, unix.SOCK_STREAM, 0}, {unix.AF_XDP, unix.SOCK_RAW, 0},
		{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER},
	} {
		_, err := unix.Socket(s[0], s[1], s[2])
		t.did(fmt.Sprintf("socket %v", s), err)
	}
	_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 8, uintptr(unsafe.Pointer(new([120]byte))), 0)
	t.did("io_uring_setup", errno)
	_, err := unix.PidfdGetfd(0, 0, 0)
	t.did("pidfd_getfd", err)
	_, err = unix.Socketpair(unix.AF_INET, unix.SOCK_STREAM, 0)
	t.did("socketpair", err)
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	t.did("socketpair of Unix sockets", err)
	t.write("write", fds[0], "x")
	_, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	t.did("a netlink socket of routes", err)
}

func TestCallsThatReachTheKernelsNetworkAreRefused(t *testing.T) {
	var lines refusals
	out, _ := runOnStack(t, Config{Command: []string{os.Args[0], "converse", "refused calls"}, Refused: lines.add})
	want := `socket [2 3 1]: EPERM
socket [10 3 58]: EPERM
socket [2 2 1]: EACCES
socket [2 1 132]: EPROTONOSUPPORT
socket [17 3 0]: EAFNOSUPPORT
socket [40 1 0]: EAFNOSUPPORT
socket [44 3 0]: EAFNOSUPPORT
socket [16 3 12]: EPROTONOSUPPORT
io_uring_setup: ENOSYS
pidfd_getfd: EPERM
socketpair: EAFNOSUPPORT
socketpair of Unix sockets: ok
write: 1
a netlink socket of routes: ok
`
	if out != want {
		t.Errorf("got what differs:\n%s", lineDifference(out, want))
	}
	for _, part := range []string{"a raw socket", "AF_PACKET", "AF_VSOCK", "AF_XDP", "netlink", "io_uring", "pidfd_getfd", "socketpair", "pings"} {
		said := 0
		for _, line := range lines.all {
			if strings.Contains(line, part) && strings.Contains(line, "program.test") {
				said++
			}
		}
		if said != 1 {
			t.Errorf("got %d lines with %q among %q, want one", said, part, lines.all)
		}
	}
}

// talkReceives receives descriptors from a process outside.
func talkReceives(t *talker) {
	c := must(unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0))
	must(0, unix.Connect(c, &unix.SockaddrUnix{Name: os.Args[3]}))
	for range 2 {
		b, oob := make([]byte, 16), make([]byte, 64)
		n, size, _, _, err := unix.Recvmsg(c, b, oob, 0)
		for err == unix.EINTR {
			n, size, _, _, err = unix.Recvmsg(c, b, oob, 0)
		}
		if err != nil {
			t.did("receive", err)
			continue
		}
		t.say("receive: %q, descriptors: %v", b[:n], size > 0)
	}
}

func TestASocketThatIsPassedFromOutsideIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f := internetSocket(t)
	var lines refusals
	p, output := startOnStack(t, Config{Command: []string{os.Args[0], "converse", "receives", path}, Refused: lines.add})
	c, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, passed := range []*os.File{f, os.Stdin} {
		if _, _, err := c.WriteMsgUnix([]byte("message"), unix.UnixRights(int(passed.Fd())), nil); err != nil {
			t.Fatal(err)
		}
	}
	p.Wait() //nolint:errcheck // the output shows it
	want := "receive: EPERM\nreceive: \"message\", descriptors: true\n"
	if got := output(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(lines.all) != 1 || !strings.Contains(lines.all[0], "passed") {
		t.Errorf("got the lines %q, want one that says that a socket was passed", lines.all)
	}
}

func TestInheritedSocketsAreClosed(t *testing.T) {
	f := internetSocket(t)
	const number = 77
	if err := unix.Dup3(int(f.Fd()), number, 0); err != nil { // without FD_CLOEXEC
		t.Fatal(err)
	}
	defer unix.Close(number)
	if err := unix.Dup3(int(os.Stdin.Fd()), number+1, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(number + 1)
	var lines refusals
	_, status := runOnStack(t, Config{Command: []string{"sh", "-c", "test ! -e /proc/self/fd/77 -a -e /proc/self/fd/78"}, Refused: lines.add})
	if status != 0 {
		t.Errorf("got status %d, want 0: descriptor 77 is closed, and 78 is inherited", status)
	}
	if len(lines.all) != 1 || !strings.Contains(lines.all[0], "descriptor 77") {
		t.Errorf("got the lines %q, want one about descriptor 77", lines.all)
	}
	c := Config{Stack: newStack(t), Command: []string{"true"}, Self: []string{os.Args[0], "guard"}, Files: [3]*os.File{f}}
	if _, err := Start(c); err == nil || !strings.Contains(err.Error(), "descriptor 0 is a socket") {
		t.Errorf("with a socket as standard input: got the error %v, want one that says so", err)
	}
}

// otherABI is a program that opens a socket by the calls of i386, which a 64-bit process has too.
// Its status is the number of the error.
const otherABI = `
.globl _start
_start:
	mov $359, %eax
	mov $2, %ebx
	mov $1, %ecx
	xor %edx, %edx
	int $0x80
	neg %eax
	mov %eax, %ebx
	mov $1, %eax
	int $0x80
`

func TestCallsOfAnotherABIAreRefused(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil || runtime.GOARCH != "amd64" {
		t.Skipf("it needs a C compiler (%v), and amd64", err)
	}
	program := filepath.Join(t.TempDir(), "program")
	c := exec.Command(cc, "-nostdlib", "-static", "-x", "assembler", "-o", program, "-")
	c.Stdin = strings.NewReader(otherABI)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("cc: %v: %s", err, out)
	}
	if err := exec.Command(program).Run(); err == nil || !strings.Contains(err.Error(), "exit status") {
		t.Skipf("the kernel does not have the calls of i386: %v", err)
	}
	var lines refusals
	if _, status := runOnStack(t, Config{Command: []string{program}, Refused: lines.add}); status != int(unix.ENOSYS) {
		t.Errorf("got status %d, want that of ENOSYS", status)
	}
	if len(lines.all) != 1 || !strings.Contains(lines.all[0], "another ABI") {
		t.Errorf("got the lines %q, want one that says why", lines.all)
	}
}
