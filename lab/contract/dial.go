package contract

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"syscall"
	"time"

	"weir/lab/internal/network"

	"golang.org/x/sys/unix"
)

// Dial connects to the server. The end of the round closes the connection. It may be called from
// any goroutine.
func (b *Bench) Dial() *net.TCPConn { return b.DialPort(b.Params.Port) }

// DialPort connects to a port of the server, from the other side of its network if it has one. The
// connection has a deadline of the bench's timeout, and is closed by the end of the round. It may
// be called from any goroutine.
func (b *Bench) DialPort(port int) (conn *net.TCPConn) {
	addr := net.JoinHostPort(b.Params.Host, strconv.Itoa(port))
	b.OnPeer(func() {
		d := net.Dialer{Timeout: b.Timeout}
		c, err := d.DialContext(b.Context, "tcp", addr)
		Expect(err == nil, "expected to be accepted at %s: %w", addr, err)
		conn = c.(*net.TCPConn)
	})
	context.AfterFunc(b.Context, func() { conn.Close() })
	b.Extend(conn)
	return conn
}

// OnPeer calls f on the other side of the server's network, if it has one. There f may open
// sockets.
func (b *Bench) OnPeer(f func()) {
	if b.Network == nil {
		f()
		return
	}
	Must(network.In(b.Network.Peer, func() error { return Try(f) }))
}

// Extend sets the deadlines of connections to the bench's timeout from now.
func (b *Bench) Extend(conns ...net.Conn) {
	for _, c := range conns {
		Must(c.SetDeadline(time.Now().Add(b.Timeout)))
	}
}

// Reset resets a connection.
func Reset(c *net.TCPConn) {
	Must(c.SetLinger(0))
	c.Close()
}

// WriteText writes text as it is.
func WriteText(c io.Writer, text string) {
	_, err := c.Write([]byte(text))
	Expect(err == nil, "expected the server to take %.40q: %w", text, DescribeError(err))
}

// WriteSingly writes text in single bytes.
func WriteSingly(c *net.TCPConn, text string) {
	for i := range len(text) {
		WriteText(c, text[i:i+1])
		if i%8 == 0 {
			time.Sleep(time.Millisecond) // so that some of them are read separately
		}
	}
}

// AwaitArrival waits until the kernel on the server's side has received everything that was sent
// on a connection. Where the system does not tell (TIOCOUTQ; on Linux SIOCOUTQ, tcp(7)), it has.
func (b *Bench) AwaitArrival(c *net.TCPConn) {
	raw, err := c.SyscallConn()
	Must(err)
	for deadline := time.Now().Add(b.Timeout); ; time.Sleep(PollInterval) {
		unacknowledged := 0
		Must(raw.Control(func(fd uintptr) { unacknowledged, _ = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ) }))
		if unacknowledged == 0 {
			return
		}
		Expect(!time.Now().After(deadline), "expected all bytes to be acknowledged, saw %d that are not", unacknowledged)
	}
}

// The errors of DescribeError.
var (
	ErrReset   = errors.New("the server reset the connection")
	ErrEnded   = errors.New("the server closed the connection")
	ErrTimeout = errors.New("nothing more within the time allowed")
)

// DescribeError replaces common network errors by plain descriptions.
func DescribeError(err error) error {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ENOTCONN):
		return ErrReset
	case errors.As(err, &timeout) && timeout.Timeout():
		return ErrTimeout
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ErrEnded
	}
	return err
}
