package httpload

import (
	"context"
	"crypto/tls"
	"io"
	"iter"
	"net"
	"os"
	"syscall"
	"time"

	"weir/lab/internal/raw"
)

// maxUnsent is the largest number of encrypted bytes that wait for room in a socket. A request is
// smaller, but a server could cause any number of key updates.
const maxUnsent = MaxBody + 4<<20

// tlsConn runs crypto/tls on a non-blocking socket of the loop. It belongs to the loop's thread.
//
// The handshake is straight-line code that blocks in Read, so it runs as a coroutine, which ends
// with it. After the handshake Read returns errWouldBlock when the socket is empty. crypto/tls
// keeps the part of a record that it has received if an error is temporary, and continues with the
// next call. Errors of Write are final for it, so Write stores the bytes that the socket does not
// take, and flush sends them later.
type tlsConn struct {
	*tls.Conn
	fd       int32
	unsent   []byte // encrypted bytes that the socket did not take
	drained  bool   // the socket has no more to read before its next event
	hangup   bool   // the server will send nothing more: read until the end
	ended    bool   // the TCP connection has ended
	finished bool   // the handshake is over
	err      error  // of the handshake
	yield    func(struct{}) bool
	resume   func() (struct{}, bool) // continues the handshake
	stop     func()                  // ends the handshake
}

// newTLSConn prepares the handshake of a client. It starts with the first call of step.
func newTLSConn(fd int32, config *tls.Config) *tlsConn {
	t := &tlsConn{fd: fd}
	t.Conn = tls.Client(socket{t}, config)
	t.resume, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		t.err = t.HandshakeContext(context.Background())
		t.finished = true
	})
	return t
}

// step continues the handshake and reports whether it is over, with success unless err is set.
func (t *tlsConn) step() bool {
	t.resume()
	return t.finished
}

// shut ends an unfinished handshake, and tells the server that nothing more will be sent.
func (t *tlsConn) shut() {
	t.stop()
	if t.err == nil && !t.ended && !t.hangup {
		t.CloseWrite() //nolint:errcheck // the connection is closed next
	}
}

// flush sends what the socket did not take before.
func (t *tlsConn) flush() error {
	for len(t.unsent) > 0 {
		n, errno := raw.Send(t.fd, t.unsent)
		switch errno {
		case 0:
			t.unsent = t.unsent[:copy(t.unsent, t.unsent[n:])]
		case syscall.EINTR:
		case syscall.EAGAIN:
			return nil
		default:
			return os.NewSyscallError("send", errno)
		}
	}
	return nil
}

// socket is the connection under a tlsConn.
type socket struct{ *tlsConn }

func (s socket) Read(p []byte) (int, error) {
	for {
		if s.drained {
			if s.finished {
				return 0, errWouldBlock
			}
			if !s.yield(struct{}{}) {
				return 0, net.ErrClosed
			}
			continue
		}
		n, errno := raw.Receive(s.fd, p)
		switch {
		case errno == syscall.EINTR:
		case errno == syscall.EAGAIN:
			s.drained = true
		case errno != 0:
			s.ended = true
			return 0, os.NewSyscallError("recv", errno)
		case n == 0:
			s.ended = true
			return 0, io.EOF
		default:
			s.drained = n < len(p) && !s.hangup
			return n, nil
		}
	}
}

func (s socket) Write(p []byte) (int, error) {
	if len(s.unsent)+len(p) > maxUnsent {
		return 0, os.NewSyscallError("send", syscall.ENOBUFS)
	}
	s.unsent = append(s.unsent, p...)
	if err := s.flush(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// The loop closes the socket and checks timeouts.
func (s socket) Close() error                     { return nil }
func (s socket) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (s socket) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (s socket) SetDeadline(time.Time) error      { return nil }
func (s socket) SetReadDeadline(time.Time) error  { return nil }
func (s socket) SetWriteDeadline(time.Time) error { return nil }

// errWouldBlock is temporary for crypto/tls, which continues when Read is called again.
var errWouldBlock net.Error = wouldBlock{}

type wouldBlock struct{}

func (wouldBlock) Error() string   { return "the socket has nothing to read" }
func (wouldBlock) Timeout() bool   { return false }
func (wouldBlock) Temporary() bool { return true }
