package stackapp

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	echoSize  = 512       // buffer of an echo connection in bytes; an idle connection keeps one
	blockSize = 128 << 10 // bytes of one read of discard
	// Bytes of one write of the source service, and of the operation "--inside bulk". With 128 KiB,
	// the kernel's TCP/IP stack sends a quarter less.
	writeSize = 512 << 10
)

// retryDelay is how long to wait after an accept or an operation failed, for example because the
// process has no file descriptor left.
const retryDelay = 20 * time.Millisecond

// blocks are read buffers for connections with input: a short connection allocates none.
var blocks = sync.Pool{New: func() any { return new([blockSize]byte) }}

// sourceBlock is the data that the source sends. It is read-only.
var sourceBlock = newBlock()

// newBlock writes to its memory once: memory that was never written is one shared page of zeros,
// which is copied faster than real data.
func newBlock() []byte {
	b := make([]byte, writeSize)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// Services are the running services of a stack.
type Services struct {
	listeners []net.Listener
	running   sync.WaitGroup
	discarded atomic.Int64 // bytes that the discard service read

	mu     sync.Mutex
	closed bool                  // guarded by mu
	open   map[net.Conn]struct{} // guarded by mu
}

// Serve starts the services that s does not provide itself. They run until Close.
func Serve(s Stack) (*Services, error) {
	v := &Services{open: map[net.Conn]struct{}{}}
	for port, handle := range map[int]func(net.Conn){Echo: echo, Discard: v.discard, Source: source} {
		if slices.Contains(s.Served, port) {
			continue
		}
		l, err := s.Listen(port)
		if err != nil {
			v.Close()
			return nil, fmt.Errorf("listening on port %d: %w", port, err)
		}
		v.listeners = append(v.listeners, l)
		v.running.Go(func() { v.accept(l, handle) }) // until Close closes l
	}
	return v, nil
}

// Close closes all listeners and connections, and returns when their goroutines have ended.
func (v *Services) Close() {
	v.mu.Lock()
	v.closed = true
	for _, l := range v.listeners {
		l.Close() //nolint:errcheck // nothing is lost
	}
	for c := range v.open {
		c.Close() //nolint:errcheck // nothing is lost
	}
	v.mu.Unlock()
	v.running.Wait()
}

func (v *Services) accept(l net.Listener, handle func(net.Conn)) {
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
			if v.register(c) {
				v.running.Go(func() { v.session(c, handle) }) // until the peer ends it, or Close
			}
		case errors.Is(err, net.ErrClosed) || v.isClosed():
			return
		default:
			time.Sleep(retryDelay)
		}
	}
}

// register records a connection for Close, and reports whether it may be used. After Close it
// closes the connection instead.
func (v *Services) register(c net.Conn) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		c.Close() //nolint:errcheck // nothing is lost
		return false
	}
	v.open[c] = struct{}{}
	return true
}

func (v *Services) isClosed() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.closed
}

// session runs the service of a connection and then closes the connection.
func (v *Services) session(c net.Conn, handle func(net.Conn)) {
	handle(c)
	v.mu.Lock()
	delete(v.open, c)
	v.mu.Unlock()
	c.Close() //nolint:errcheck // the peer sees it
}

// noDelay makes small writes leave at once, on stacks that support it.
func noDelay(c net.Conn) {
	if c, ok := c.(interface{ SetNoDelay(bool) error }); ok {
		c.SetNoDelay(true) //nolint:errcheck // without it the service is slower, and works
	}
}

// echo sends back what it reads, until the end of input.
func echo(c net.Conn) {
	noDelay(c)
	buffer := make([]byte, echoSize)
	for {
		n, err := c.Read(buffer)
		if n > 0 {
			if _, err := c.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// discard reads until the end of input.
func (v *Services) discard(c net.Conn) {
	buffer := blocks.Get().(*[blockSize]byte)
	defer blocks.Put(buffer)
	for {
		n, err := c.Read(buffer[:])
		v.discarded.Add(int64(n))
		if err != nil {
			return
		}
	}
}

// source sends until the peer closes the connection.
func source(c net.Conn) {
	for {
		if _, err := c.Write(sourceBlock); err != nil {
			return
		}
	}
}
