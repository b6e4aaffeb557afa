//go:build amd64 || arm64

package program

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// datagramSocket returns a UDP socket at the loopback address, and its address.
func (t *talker) datagramSocket() (int, *unix.SockaddrInet4) {
	u := t.socket(unix.SOCK_DGRAM)
	must(0, unix.Bind(u, local4))
	return u, must(unix.Getsockname(u)).(*unix.SockaddrInet4)
}

// boundAt returns a UDP socket at an address.
func (t *talker) boundAt(a unix.Sockaddr) int {
	u := t.socket(unix.SOCK_DGRAM)
	must(0, unix.Bind(u, a))
	return u
}

func (t *talker) receive(what string, fd, size, flags int, ports ...int) {
	b := make([]byte, size)
	n, from, err := unix.Recvfrom(fd, b, flags)
	for err == unix.EINTR {
		n, from, err = unix.Recvfrom(fd, b, flags)
	}
	if err != nil {
		t.did(what, err)
		return
	}
	t.say("%s: %d bytes, %q", what, n, b[:min(n, size)])
	t.address(what, from, nil, ports...)
}

func talkDatagrams(t *talker) {
	s, at := t.datagramSocket()
	c := t.socket(unix.SOCK_DGRAM)
	a, err := unix.Getsockname(c)
	t.address("own of a new socket", a, err)
	t.ready("new", c)
	t.did("send", unix.Sendto(c, []byte("one"), 0, at))
	a, err = unix.Getsockname(c)
	t.address("own after sending", a, err)
	own := must(unix.Getsockname(c)).(*unix.SockaddrInet4)
	t.poll("arrived", s, unix.POLLIN)
	t.receive("peek", s, 10, unix.MSG_PEEK, own.Port)
	t.receive("receive", s, 10, 0, own.Port)
	t.did("send nothing", unix.Sendto(c, nil, 0, at))
	t.receive("receive nothing", s, 10, 0, own.Port)
	t.did("send", unix.Sendto(c, []byte("truncated"), 0, at))
	t.receive("receive a part", s, 5, 0, own.Port)
	t.did("send", unix.Sendto(c, []byte("truncated"), 0, at))
	t.receive("receive a part, tell the length", s, 5, unix.MSG_TRUNC, own.Port)
	t.did("send to port 0", unix.Sendto(c, []byte("x"), 0, &unix.SockaddrInet4{Addr: local4.Addr}))
	t.did("send too much", unix.Sendto(c, make([]byte, 65508), 0, at))
	own.Addr = local4.Addr // it is that of its datagrams only
	t.did("answer", unix.Sendto(s, []byte("answer"), 0, own))
	t.receive("receive the answer", c, 10, 0, at.Port)
	nonblocking(c)
	t.receive("receive none", c, 10, 0)
	t.did("listen", unix.Listen(c, 1))
	must(0, unix.SetsockoptTimeval(s, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 20000}))
	t.receive("receive with a timeout", s, 10, 0)
}

func talkDatagramErrors(t *talker) {
	_, at := t.datagramSocket()
	c := t.socket(unix.SOCK_DGRAM)
	t.did("bind of an address in use", unix.Bind(c, at))
	_, err := unix.Getpeername(c)
	t.did("peer of a new socket", err)
	t.did("bind", unix.Bind(c, local4))
	t.did("bind again", unix.Bind(c, local4))
	_, _, err = unix.Accept(c)
	t.did("accept", err)
	free, gone := t.datagramSocket()
	unix.Close(free)
	pause()
	t.did("connect", unix.Connect(c, gone))
	t.did("send", unix.Send(c, []byte("x"), 0))
	pause()
	t.receive("receive the error", c, 10, 0)
	t.option("error", c, unix.SOL_SOCKET, unix.SO_ERROR)
}

func talkConnectedDatagrams(t *talker) {
	s, at := t.datagramSocket()
	other, _ := t.datagramSocket()
	c := t.socket(unix.SOCK_DGRAM)
	t.did("connect", unix.Connect(c, at))
	a, err := unix.Getpeername(c)
	t.address("peer", a, err, at.Port)
	a, err = unix.Getsockname(c)
	t.address("own", a, err)
	own := must(unix.Getsockname(c)).(*unix.SockaddrInet4)
	t.write("send", c, "question")
	t.receive("receive", s, 20, 0, own.Port)
	t.did("send of a stranger", unix.Sendto(other, []byte("strange"), 0, own))
	t.did("answer", unix.Sendto(s, []byte("answer"), 0, own))
	t.read("read", c)
	t.did("answer", unix.Sendto(s, []byte("answer"), 0, own))
	t.receive("receive the answer", c, 20, 0, at.Port)
	t.did("connect to another", unix.Connect(c, must(unix.Getsockname(other))))
	t.write("send", c, "other")
	t.receive("receive at the other", other, 20, 0, own.Port)
	t.did("send to the first", unix.Sendto(c, []byte("first"), 0, at))
	t.poll("arrived", s, unix.POLLIN)
	nonblocking(s)
	t.receive("receive at the first", s, 20, 0, own.Port)
	t.write("send to the other", c, "still connected")
	t.receive("receive at the other", other, 20, 0, own.Port)
	t.did("shutdown", unix.Shutdown(c, unix.SHUT_RD))
	n, _, err := unix.Recvfrom(c, make([]byte, 10), 0)
	t.did("receive after it", err)
	t.say("bytes: %d", n)
}

func talkManyDatagrams(t *talker) {
	s, at := t.datagramSocket()
	c := t.socket(unix.SOCK_DGRAM)
	for i := range 5 {
		buffers := [][]byte{{byte('a' + i)}, []byte("bc")}
		n, err := unix.SendmsgBuffers(c, buffers, nil, at, 0)
		t.did("send", err)
		t.say("%d bytes", n)
	}
	own := must(unix.Getsockname(c)).(*unix.SockaddrInet4)
	for range 5 {
		first, second := make([]byte, 1), make([]byte, 1)
		n, controls, flags, from, err := unix.RecvmsgBuffers(s, [][]byte{first, second}, nil, 0)
		t.say("%d bytes %s%s, %d of control, truncated %v", n, first, second, controls, flags&unix.MSG_TRUNC != 0)
		t.address("sender", from, err, own.Port)
	}
}

// talkPassed passes a socket to itself by a Unix socket.
func talkPassed(t *talker) {
	c, s := t.pair()
	fds := must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0))
	t.did("pass", unix.Sendmsg(fds[0], []byte("x"), unix.UnixRights(c), nil, 0))
	unix.Close(c)
	b, oob := make([]byte, 1), make([]byte, 64)
	_, n, _, _, err := unix.Recvmsg(fds[1], b, oob, 0)
	t.did("receive", err)
	messages := must(unix.ParseSocketControlMessage(oob[:n]))
	got := must(unix.ParseUnixRights(&messages[0]))[0]
	t.write("write", got, "passed")
	t.read("read", s)
	a, err := unix.Getpeername(got)
	t.address("peer", a, err)
}

// talkPacketInfo asks for the address that datagrams were sent to, and answers from it.
func talkPacketInfo(t *talker) {
	s := t.socket(unix.SOCK_DGRAM)
	must(0, unix.Bind(s, &unix.SockaddrInet4{}))
	port := must(unix.Getsockname(s)).(*unix.SockaddrInet4).Port
	t.did("set packet info", unix.SetsockoptInt(s, unix.IPPROTO_IP, unix.IP_PKTINFO, 1))
	c := t.socket(unix.SOCK_DGRAM)
	t.did("send", unix.Sendto(c, []byte("question"), 0, &unix.SockaddrInet4{Addr: local4.Addr, Port: port}))
	b, oob := make([]byte, 20), make([]byte, 100)
	n, size, flags, from, err := unix.Recvmsg(s, b, oob, 0)
	t.did("receive", err)
	t.say("%q, %d bytes of control: %x, flags %x", b[:n], size, oob[:size], flags)
	t.did("answer", unix.Sendmsg(s, []byte("answer"), oob[:size], from, 0))
	t.receive("receive the answer", c, 20, 0, port)
	t.did("send", unix.Sendto(c, []byte("question"), 0, &unix.SockaddrInet4{Addr: local4.Addr, Port: port}))
	n, size, flags, _, err = unix.Recvmsg(s, b, oob[:8], 0)
	t.did("receive without room", err)
	t.say("%q, %d bytes of control, flags %x", b[:n], size, flags)
	s6 := must(unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM, 0))
	must(0, unix.Bind(s6, &unix.SockaddrInet6{}))
	port = must(unix.Getsockname(s6)).(*unix.SockaddrInet6).Port
	t.did("set packet info", unix.SetsockoptInt(s6, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1))
	c6 := must(unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM, 0))
	t.did("send", unix.Sendto(c6, []byte("six"), 0, &unix.SockaddrInet6{Addr: local6.Addr, Port: port}))
	n, size, _, from, err = unix.Recvmsg(s6, b, oob, 0)
	t.did("receive", err)
	t.say("%q, %d bytes of control: %x", b[:n], size, oob[:size])
	t.did("answer", unix.Sendmsg(s6, []byte("answer"), oob[:size], from, 0))
	t.receive("receive the answer", c6, 20, 0, port)
}

// talkUnreachable uses addresses that the stack has no route to.
func talkUnreachable(t *talker) {
	far := &unix.SockaddrInet4{Addr: [4]byte{192, 0, 2, 9}, Port: 9}
	u, at := t.datagramSocket()
	t.did("connect", unix.Connect(u, at))
	t.did("connect to a far address", unix.Connect(u, far))
	t.did("send", unix.Sendmsg(u, []byte("x"), nil, nil, 0))
	t.did("send to a far address", unix.Sendto(u, []byte("x"), 0, far))
	t.did("send to itself", unix.Sendto(u, []byte("x"), 0, at))
	t.receive("receive", u, 10, 0, at.Port)
	c := t.socket(unix.SOCK_STREAM)
	t.did("connect", unix.Connect(c, far))
}

// talkDatagramsBeforeClose binds sockets to one port, one after the other: what each has written
// before it was closed arrives, though the next one takes its port at once.
func talkDatagramsBeforeClose(t *talker) {
	s, at := t.datagramSocket()
	must(0, unix.SetsockoptTimeval(s, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10}))
	first, own := t.datagramSocket()
	unix.Close(first)
	c, lost, b := t.boundAt(own), 0, make([]byte, 10)
	for range 200 {
		must(0, unix.Connect(c, at))
		must(unix.Write(c, []byte("one")))
		must(unix.Write(c, []byte("two")))
		unix.Close(c)
		c = t.boundAt(own)
		for range 2 {
			if _, err := unix.Read(s, b); err != nil {
				lost++
			}
		}
	}
	t.say("lost: %d", lost)
}

// talkConnectFails sends to the address of connect after a second connect has failed.
func talkConnectFails(t *talker) {
	s, at := t.datagramSocket()
	c, own := t.datagramSocket()
	must(0, unix.Connect(c, at))
	t.did("connect without a route", unix.Connect(c, &unix.SockaddrInet4{Port: 9, Addr: [4]byte{192, 0, 2, 1}}))
	t.write("write", c, "x")
	t.receive("receive", s, 10, 0, own.Port)
}

func TestADatagramSocketWhoseSecondConnectFails(t *testing.T) {
	out, status := runOnStack(t, Config{Command: []string{os.Args[0], "converse", "connect fails"}})
	want := "connect without a route: ENETUNREACH\nwrite: 1\nreceive: 1 bytes, \"x\"\nreceive: [127 0 0 1], port 0 of those\n"
	if out != want || status != 0 {
		t.Errorf("got status %d and %q, want 0 and %q", status, out, want)
	}
}

// talkHugeCounts makes calls with more messages than there may be.
func talkHugeCounts(t *talker) {
	s, at := t.datagramSocket()
	c := t.socket(unix.SOCK_DGRAM)
	must(0, unix.Connect(c, at))
	const count = 1<<32 - 1
	h := make([]mmsghdr, maxBuffers)
	n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(c), uintptr(unsafe.Pointer(&h[0])), count, 0, 0, 0)
	t.say("sendmmsg: %d, %d", n, errno)
	t.poll("the first has arrived", s, unix.POLLIN)
	n, _, errno = unix.Syscall6(unix.SYS_RECVMMSG, uintptr(s), uintptr(unsafe.Pointer(&h[0])), count, unix.MSG_DONTWAIT, 0, 0)
	t.say("recvmmsg: %v, %d", int(n) > 0, errno)
}
