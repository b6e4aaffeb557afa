//go:build amd64 || arm64

package program

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// talkReceivesMany receives a descriptor by a call that may take several messages.
func talkReceivesMany(t *talker) {
	c := must(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0))
	must(0, unix.Connect(c, &unix.SockaddrUnix{Name: os.Args[3]}))
	b, control := make([]byte, 2), make([]byte, 64)
	switch os.Args[4] {
	case "MSG_WAITALL":
		_, size, _, _, err := unix.Recvmsg(c, b, control, unix.MSG_WAITALL)
		t.say("descriptors: %v, %v", size > 0, err)
	case "SO_RCVLOWAT":
		must(0, unix.SetsockoptInt(c, unix.SOL_SOCKET, unix.SO_RCVLOWAT, 2))
		_, size, _, _, err := unix.Recvmsg(c, b, control, 0)
		t.say("descriptors: %v, %v", size > 0, err)
	case "recvmmsg":
		h := make([]mmsghdr, maxBuffers)
		v := unix.Iovec{Base: &b[0], Len: 1}
		h[0].Iov, h[0].Iovlen, h[0].Control, h[0].Controllen = &v, 1, &control[0], uint64(len(control))
		_, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(c), uintptr(unsafe.Pointer(&h[0])), 1<<32-1, unix.MSG_WAITFORONE, 0, 0)
		t.say("descriptors: %v, %v", h[0].Controllen > 0 && errno == 0, errno)
	}
}

// A peer sends a byte, and then one with a socket of the kernel's network.
func TestASocketInALaterMessageIsRefused(t *testing.T) {
	f := internetSocket(t)
	for _, how := range []string{"MSG_WAITALL", "SO_RCVLOWAT", "recvmmsg"} {
		path := filepath.Join(t.TempDir(), "s")
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		var lines refusals
		p, output := startOnStack(t, Config{Command: []string{os.Args[0], "converse", "receives many", path, how}, Refused: lines.add})
		c, err := l.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Write([]byte("a")) //nolint:errcheck // the output shows it
		pause()
		c.WriteMsgUnix([]byte("b"), unix.UnixRights(int(f.Fd())), nil) //nolint:errcheck // the program may have ended
		p.Wait()                                                       //nolint:errcheck // the output shows it
		if got, want := output(), "descriptors: false, operation not supported\n"; got != want {
			t.Errorf("%s: got %q, want %q", how, got, want)
		}
		if len(lines.all) != 1 || !strings.Contains(lines.all[0], "several messages") {
			t.Errorf("%s: got the lines %q, want one that says why", how, lines.all)
		}
	}
}
