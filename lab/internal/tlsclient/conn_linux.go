package tlsclient

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

// maxUnsent is the largest number of encrypted bytes that wait for room in a socket. Requests and
// messages are smaller, but a server could cause any number of key updates.
const maxUnsent = 20 << 20

// Conn runs crypto/tls on a non-blocking socket of the loop. It belongs to the loop's thread.
//
// The handshake is straight-line code that blocks in Read, so it runs as a coroutine, which ends
// with it. After the handshake Read returns ErrWouldBlock when the socket is empty. crypto/tls
// keeps the part of a record that it has received if an error is temporary, and continues with the
// next call. Errors of Write are final for it, so Write stores the bytes that the socket does not
// take, and Flush sends them later.
type Conn struct {
	*tls.Conn
	Err     error  // of the handshake
	Unsent  []byte // encrypted bytes that the socket did not take
	Drained bool   // the socket has no more to read; set to false by the loop at its next event
	Hangup  bool   // set by the loop: the server will send nothing more, and is read to its end
	Ended   bool   // the TCP connection has ended

	fd       int32
	finished bool // the handshake is over
	yield    func(struct{}) bool
	resume   func() (struct{}, bool) // continues the handshake
	stop     func()                  // ends the handshake
}

// New prepares the handshake of a client. It starts with the first call of Step.
func New(fd int32, config *tls.Config) *Conn {
	t := &Conn{fd: fd}
	t.Conn = tls.Client(socket{t}, config)
	t.resume, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		t.Err = t.HandshakeContext(context.Background())
		t.finished = true
	})
	return t
}

// Step continues the handshake and reports whether it is over, with success unless Err is set.
func (t *Conn) Step() bool {
	t.resume()
	return t.finished
}

// Stop ends an unfinished handshake. It must be called from the loop's thread.
func (t *Conn) Stop() { t.stop() }

// Shut ends an unfinished handshake, and tells the server that nothing more will be sent.
func (t *Conn) Shut() {
	t.stop()
	if t.Err == nil && !t.Ended && !t.Hangup {
		t.CloseWrite() //nolint:errcheck // the connection is closed next
	}
}

// Flush sends what the socket did not take before.
func (t *Conn) Flush() error {
	for len(t.Unsent) > 0 {
		n, errno := raw.Send(t.fd, t.Unsent)
		switch errno {
		case 0:
			t.Unsent = t.Unsent[:copy(t.Unsent, t.Unsent[n:])]
		case syscall.EINTR:
		case syscall.EAGAIN:
			return nil
		default:
			return os.NewSyscallError("send", errno)
		}
	}
	return nil
}

// socket is the connection under a Conn.
type socket struct{ *Conn }

func (s socket) Read(p []byte) (int, error) {
	for {
		if s.Drained {
			if s.finished {
				return 0, ErrWouldBlock
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
			s.Drained = true
		case errno != 0:
			s.Ended = true
			return 0, os.NewSyscallError("recv", errno)
		case n == 0:
			s.Ended = true
			return 0, io.EOF
		default:
			s.Drained = n < len(p) && !s.Hangup
			return n, nil
		}
	}
}

func (s socket) Write(p []byte) (int, error) {
	if len(s.Unsent)+len(p) > maxUnsent {
		return 0, os.NewSyscallError("send", syscall.ENOBUFS)
	}
	s.Unsent = append(s.Unsent, p...)
	if err := s.Flush(); err != nil {
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

// ErrWouldBlock is temporary for crypto/tls, which continues when Read is called again.
var ErrWouldBlock net.Error = wouldBlock{}

type wouldBlock struct{}

func (wouldBlock) Error() string   { return "the socket has nothing to read" }
func (wouldBlock) Timeout() bool   { return false }
func (wouldBlock) Temporary() bool { return true }
