//go:build amd64 || arm64

package program

import (
	"golang.org/x/sys/unix"
)

func talkConnect(t *talker) {
	l, at := t.listen()
	c := t.socket(unix.SOCK_STREAM)
	_, err := unix.Getpeername(c)
	t.did("peer of a new socket", err)
	t.did("connect", unix.Connect(c, at))
	t.did("connect again", unix.Connect(c, at))
	a, err := unix.Getpeername(c)
	t.address("peer", a, err, at.Port)
	a, err = unix.Getsockname(c)
	t.address("own", a, err, at.Port)
	t.ready("connected", c)
	s, from, err := unix.Accept(l)
	t.address("accept", from, err, at.Port)
	a, err = unix.Getsockname(s)
	t.address("own of the accepted", a, err, at.Port)
	t.write("write", c, "hello")
	t.read("read", s)
	t.write("answer", s, "world")
	t.poll("answered", c, unix.POLLIN)
	t.read("read the answer", c)
	unix.Close(s)
	t.poll("closed", c, unix.POLLIN|unix.POLLRDHUP)
	t.read("read the end", c)
	t.did("listen on a connected socket", unix.Listen(c, 1))
	t.did("bind of a connected socket", unix.Bind(c, local4))
}

func talkConnectLater(t *talker) {
	_, at := t.listen()
	c := t.socket(unix.SOCK_STREAM | unix.SOCK_NONBLOCK)
	t.did("connect", unix.Connect(c, at))
	t.poll("connected", c, unix.POLLOUT)
	t.option("error", c, unix.SOL_SOCKET, unix.SO_ERROR)
	t.did("connect again", unix.Connect(c, at))
	t.did("connect a third time", unix.Connect(c, at))
	t.read("read", c)
	t.write("write", c, "x")
}

func talkRefused(t *talker) {
	l, at := t.listen()
	unix.Close(l)
	c := t.socket(unix.SOCK_STREAM)
	t.did("connect", unix.Connect(c, at))
	t.option("its error", c, unix.SOL_SOCKET, unix.SO_ERROR)
	t.did("connect again", unix.Connect(c, at))
	c = t.socket(unix.SOCK_STREAM | unix.SOCK_NONBLOCK)
	t.did("connect later", unix.Connect(c, at))
	t.poll("refused", c, unix.POLLOUT|unix.POLLIN)
	t.option("error", c, unix.SOL_SOCKET, unix.SO_ERROR)
	t.option("error again", c, unix.SOL_SOCKET, unix.SO_ERROR)
	t.read("read", c)
	t.write("write", c, "x")
}

func talkAccept(t *talker) {
	l, at := t.listen()
	nonblocking(l)
	_, _, err := unix.Accept(l)
	t.did("accept of none", err)
	t.ready("listening", l)
	var clients []int
	for range 3 {
		c := t.socket(unix.SOCK_STREAM)
		t.did("connect", unix.Connect(c, at))
		clients = append(clients, c)
	}
	pause()
	for range 3 {
		t.poll("ready", l, unix.POLLIN)
		s, _, err := unix.Accept4(l, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		t.did("accept", err)
		t.read("read of nothing", s)
		flags, err := unix.FcntlInt(uintptr(s), unix.F_GETFD, 0)
		t.say("descriptor flags %d, %v", flags, err)
	}
	t.ready("all accepted", l)
	_, _, err = unix.Accept(l)
	t.did("accept of none", err)
	unix.Close(l)
	t.poll("closed clients", clients[0], unix.POLLOUT)
}

func talkAcceptWaits(t *talker) {
	l, at := t.listen()
	must(0, unix.SetsockoptTimeval(l, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 50000}))
	_, _, err := unix.Accept(l)
	t.did("accept with a timeout", err)
	must(0, unix.SetsockoptTimeval(l, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{}))
	done := make(chan error)
	go func() {
		_, _, err := unix.Accept(l)
		for err == unix.EINTR {
			_, _, err = unix.Accept(l)
		}
		done <- err
	}()
	pause()
	c := t.socket(unix.SOCK_STREAM)
	t.did("connect", unix.Connect(c, at))
	t.did("accept", <-done)
}

func talkHalfClose(t *talker) {
	c, s := t.pair()
	t.write("question", c, "question")
	t.did("shutdown", unix.Shutdown(c, unix.SHUT_WR))
	t.write("write after it", c, "x")
	t.read("read", s)
	t.poll("end", s, unix.POLLIN|unix.POLLRDHUP)
	t.read("read the end", s)
	t.ready("server", s)
	t.write("answer", s, "answer")
	t.read("read the answer", c)
	a, err := unix.Getpeername(c)
	t.address("peer of the half-closed", a, err)
	t.did("shutdown of the server", unix.Shutdown(s, unix.SHUT_WR))
	t.poll("both ended", c, unix.POLLIN|unix.POLLRDHUP)
	pause()
	t.ready("client", c)
	t.ready("server", s)
	t.read("read the client's end", c)
	a, err = unix.Getsockname(c)
	t.address("own of the ended", a, err)
}

func talkResetByUnread(t *talker) {
	c, s := t.pair()
	t.write("write", c, "unread")
	t.poll("arrived", s, unix.POLLIN)
	unix.Close(s)
	t.poll("reset", c, unix.POLLIN|unix.POLLRDHUP)
	t.read("read", c)
	t.read("read again", c)
	t.write("write after it", c, "x")
}

func talkResetByLinger(t *talker) {
	c, s := t.pair()
	t.did("linger", unix.SetsockoptLinger(s, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}))
	unix.Close(s)
	t.poll("reset", c, unix.POLLIN|unix.POLLRDHUP)
	t.option("error", c, unix.SOL_SOCKET, unix.SO_ERROR)
	t.read("read", c)
}

func talkResetAfterData(t *talker) {
	c, s := t.pair()
	t.write("write", s, "first")
	must(0, unix.SetsockoptLinger(s, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}))
	t.poll("arrived", c, unix.POLLIN)
	unix.Close(s)
	pause()
	t.read("read", c)
	t.read("read the reset", c)
}

func talkResetAfterHalfClose(t *talker) {
	c, s := t.pair()
	t.did("shutdown", unix.Shutdown(c, unix.SHUT_WR))
	t.read("read the end", s)
	must(0, unix.SetsockoptLinger(s, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}))
	unix.Close(s)
	t.poll("reset", c, unix.POLLIN)
	t.read("read the reset", c)
	t.read("read the end", c)
}

func talkDataBeforeClose(t *talker) {
	c, s := t.pair()
	sum := 0
	go func() {
		b := make([]byte, 50000)
		for range 20 {
			for rest := b; len(rest) > 0; {
				n, err := unix.Write(c, rest)
				if err == unix.EINTR {
					continue
				}
				rest = rest[must(n, err):]
			}
		}
		unix.Close(c)
	}()
	b := make([]byte, 30000)
	for {
		n, err := unix.Read(s, b)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			t.did("the end", err)
			break
		}
		sum += n
	}
	t.say("%d bytes", sum)
}

func talkBind(t *talker) {
	l, at := t.listen()
	c := t.socket(unix.SOCK_STREAM)
	t.did("bind of a listener's address", unix.Bind(c, at))
	a, err := unix.Getsockname(c)
	t.address("own", a, err)
	t.did("bind of a strange address", unix.Bind(c, &unix.SockaddrInet4{Addr: [4]byte{192, 0, 2, 77}}))
	t.did("bind of another family", unix.Bind(c, local6))
	t.did("bind", unix.Bind(c, local4))
	a, err = unix.Getsockname(c)
	t.address("own", a, err, at.Port)
	t.did("bind again", unix.Bind(c, local4))
	own := must(unix.Getsockname(c)).(*unix.SockaddrInet4).Port
	t.did("connect", unix.Connect(c, at))
	_, from, err := unix.Accept(l)
	t.address("accept", from, err, own)
	unix.Close(l)
	l = t.socket(unix.SOCK_STREAM)
	t.did("listen without bind", unix.Listen(l, 1))
	a, err = unix.Getsockname(l)
	t.address("own of the listener", a, err)
	t.did("listen again", unix.Listen(l, 2))
	t.did("connect of a listener", unix.Connect(l, at))
	_, _, err = unix.Accept(c)
	t.did("accept of a client", err)
}

func talkCopies(t *talker) {
	c, s := t.pair()
	d := must(unix.Dup(c))
	unix.Close(c)
	t.write("write by the copy", d, "copy")
	t.read("read", s)
	a, err := unix.Getpeername(d)
	t.address("peer of the copy", a, err)
	t.did("option of the copy", unix.SetsockoptInt(d, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
	must(0, unix.Dup3(d, 100, 0))
	unix.Close(d)
	nonblocking(s)
	t.read("read while it is open", s)
	unix.Close(100)
	t.poll("closed", s, unix.POLLIN)
	t.read("read the end", s)
}

func talkBackpressure(t *talker) {
	c, s := t.pair()
	nonblocking(c)
	sent, b := 0, make([]byte, 65536)
	for {
		n, err := unix.Write(c, b)
		if err == unix.EAGAIN {
			pause() // what the peer takes leaves room
			if n, err = unix.Write(c, b); err == unix.EAGAIN {
				break
			}
		}
		sent += must(n, err)
	}
	t.say("limited: %v", sent < 64<<20)
	t.ready("full", c)
	received := 0
	for received < sent {
		received += must(unix.Read(s, b))
	}
	t.poll("drained", c, unix.POLLOUT)
	t.say("all: %v", received == sent)
}

func talkShutdown(t *talker) {
	l, _ := t.listen()
	c := t.socket(unix.SOCK_STREAM)
	t.did("shutdown of a new socket", unix.Shutdown(c, unix.SHUT_RDWR))
	t.did("shutdown of a wrong kind", unix.Shutdown(c, 7))
	nonblocking(l)
	t.did("shutdown of a listener", unix.Shutdown(l, unix.SHUT_RDWR))
	_, _, err := unix.Accept(l)
	t.did("accept after it", err)
	c, s := t.pair()
	t.did("shutdown of both directions", unix.Shutdown(c, unix.SHUT_RDWR))
	t.read("read", c)
	t.write("write", c, "x")
	t.read("read of the server", s)
	unix.Close(s)
}

func talkOptions(t *talker) {
	l, _ := t.listen()
	t.option("type", l, unix.SOL_SOCKET, unix.SO_TYPE)
	t.option("domain", l, unix.SOL_SOCKET, unix.SO_DOMAIN)
	t.option("protocol", l, unix.SOL_SOCKET, unix.SO_PROTOCOL)
	t.option("listens", l, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	t.option("keep-alive", l, unix.SOL_SOCKET, unix.SO_KEEPALIVE)
	t.option("no delay", l, unix.IPPROTO_TCP, unix.TCP_NODELAY)
	t.did("set no delay", unix.SetsockoptInt(l, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
	t.option("no delay", l, unix.IPPROTO_TCP, unix.TCP_NODELAY)
	t.option("TTL", l, unix.IPPROTO_IP, unix.IP_TTL)
	t.did("set the TOS", unix.SetsockoptInt(l, unix.IPPROTO_IP, unix.IP_TOS, 0x10))
	t.option("TOS", l, unix.IPPROTO_IP, unix.IP_TOS)
	t.option("unknown", l, unix.IPPROTO_TCP, 999)
	t.did("set the buffer", unix.SetsockoptInt(l, unix.SOL_SOCKET, unix.SO_SNDBUF, 20000))
	t.option("buffer", l, unix.SOL_SOCKET, unix.SO_SNDBUF)
	t.did("set the timeout", unix.SetsockoptTimeval(l, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 3}))
	u := t.socket(unix.SOCK_DGRAM)
	t.option("type of a datagram socket", u, unix.SOL_SOCKET, unix.SO_TYPE)
	t.option("its protocol", u, unix.SOL_SOCKET, unix.SO_PROTOCOL)
	t.option("its error", u, unix.SOL_SOCKET, unix.SO_ERROR)
}

func talkBothVersions(t *talker) {
	l := must(unix.Socket(unix.AF_INET6, unix.SOCK_STREAM, 0))
	t.option("IPv6 only", l, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY)
	t.did("bind", unix.Bind(l, &unix.SockaddrInet6{}))
	t.did("listen", unix.Listen(l, 4))
	port := must(unix.Getsockname(l)).(*unix.SockaddrInet6).Port
	c := t.socket(unix.SOCK_STREAM)
	t.did("connect by IPv4", unix.Connect(c, &unix.SockaddrInet4{Addr: local4.Addr, Port: port}))
	s, from, err := unix.Accept(l)
	t.address("accept", from, err)
	a, err := unix.Getsockname(s)
	t.address("own of the accepted", a, err, port)
	c = must(unix.Socket(unix.AF_INET6, unix.SOCK_STREAM, 0))
	t.did("connect by IPv6", unix.Connect(c, &unix.SockaddrInet6{Addr: local6.Addr, Port: port}))
	_, from, err = unix.Accept(l)
	t.address("accept", from, err)
	c = must(unix.Socket(unix.AF_INET6, unix.SOCK_STREAM, 0))
	t.did("connect by a mapped address", unix.Connect(c, &unix.SockaddrInet6{Addr: [16]byte{10: 255, 11: 255, 12: 127, 15: 1}, Port: port}))
	a, err = unix.Getpeername(c)
	t.address("peer", a, err, port)
	c = t.socket(unix.SOCK_STREAM)
	t.did("connect of IPv4 to IPv6", unix.Connect(c, &unix.SockaddrInet6{Addr: local6.Addr, Port: port}))
	t.did("connect to the unspecified address", unix.Connect(c, &unix.SockaddrInet4{Port: port}))
	a, err = unix.Getpeername(c)
	t.address("peer", a, err, port)
}

// talkSharedPort has two listeners at one address.
func talkSharedPort(t *talker) {
	listen := func(share int, at unix.Sockaddr) int {
		l := t.socket(unix.SOCK_STREAM)
		must(0, unix.SetsockoptInt(l, unix.SOL_SOCKET, unix.SO_REUSEPORT, share))
		t.did("bind", unix.Bind(l, at))
		nonblocking(l)
		t.did("listen", unix.Listen(l, 100))
		return l
	}
	first := listen(1, local4)
	at := must(unix.Getsockname(first))
	second := listen(1, at)
	unix.Close(listen(0, at))
	var clients []int
	connect := func(n int) {
		for range n {
			c := t.socket(unix.SOCK_STREAM)
			must(0, unix.Connect(c, at))
			clients = append(clients, c)
		}
		pause()
	}
	accepted := func(l int) (n int) {
		for {
			if _, _, err := unix.Accept(l); err != nil {
				return n
			}
			n++
		}
	}
	connect(40)
	one, two := accepted(first), accepted(second)
	t.say("all: %v, both: %v", one+two == 40, one > 0 && two > 0)
	unix.Close(first)
	pause()
	connect(10)
	t.say("the rest: %d", accepted(second))
	unix.Close(second)
	c := t.socket(unix.SOCK_STREAM)
	pause()
	t.did("connect to none", unix.Connect(c, at))
}

// talkClosed closes listeners and datagram sockets, and uses their ports at once.
func talkClosed(t *talker) {
	l, at := t.listen()
	u, uat := t.datagramSocket()
	failures := map[string]int{}
	note := func(what string, err error) {
		if err != nil {
			failures[what+": "+err.Error()]++
		}
	}
	for range 200 {
		unix.Close(l)
		unix.Close(u)
		c := t.socket(unix.SOCK_STREAM)
		if err := unix.Connect(c, at); err != unix.ECONNREFUSED {
			note("connect", err)
			failures["connect"]++
		}
		unix.Close(c)
		l, u = t.socket(unix.SOCK_STREAM), t.socket(unix.SOCK_DGRAM)
		note("bind", unix.Bind(l, at))
		note("listen", unix.Listen(l, 1))
		note("bind of a datagram socket", unix.Bind(u, uat))
	}
	t.say("failures: %v", failures)
}
