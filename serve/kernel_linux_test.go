package serve

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// randomFile returns a file of n random bytes, and them.
func randomFile(t *testing.T, n int) (*os.File, []byte) {
	data := make([]byte, n)
	rand.Read(data)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, data
}

// socket is a TCP connection as a SpliceSource.
type socket struct {
	syscall.RawConn
	moved int64
	ended bool
}

func (s *socket) ReadRaw(read func(fd uintptr) bool) error { return s.Read(read) }
func (s *socket) Moved(n int64)                            { s.moved, s.ended = s.moved+n, n == 0 }

// sockets returns a pair of connected TCP connections.
func sockets(t *testing.T) (near *socket, far *net.TCPConn) {
	l := listen(t)
	defer l.Close()
	far, err := net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close(); c.Close() })
	raw, _ := c.(*net.TCPConn).SyscallConn()
	return &socket{RawConn: raw}, far
}

// copyResult is how a copy by the kernel has ended.
type copyResult struct {
	sent int64
	err  error
}

// copying returns a service whose handlers copy off the loop, and how they ended.
func copying(copyTo func(net.Conn) (int64, error)) (service, chan copyResult) {
	results := make(chan copyResult, 1)
	return service{handle: func(c net.Conn) {
		OffLoop(c, func() {
			sent, err := copyTo(c)
			results <- copyResult{sent, err}
		})
	}}, results
}

// The kernel copies all, also to a peer that reads late, so that the copy has to wait.
func TestTheKernelCopiesFilesAndSockets(t *testing.T) {
	f, data := randomFile(t, 12<<20)
	eachModel(t, func(t *testing.T, w Way) {
		near, far := sockets(t)
		go func() { far.Write(data); far.CloseWrite() }() // until the connection is closed
		for name, copyTo := range map[string]func(net.Conn) (int64, error){
			"a section of a file": func(c net.Conn) (int64, error) { return SendFile(c, f, 5, int64(len(data))-10) },
			"a socket":            func(c net.Conn) (int64, error) { return Splice(c, near, int64(len(data))) },
		} {
			s, results := copying(copyTo)
			r := startService(t, w, handlers, s, Options{})
			peer := r.dialSoon()
			time.Sleep(20 * time.Millisecond)
			got, err := io.ReadAll(peer)
			want := data
			if name != "a socket" {
				want = data[5 : len(data)-5]
			}
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: got %d bytes, %v, want %d, the same", name, len(got), err, len(want))
			}
			if res := receive(t, results, "the end of the copy"); res.sent != int64(len(want)) || res.err != nil {
				t.Errorf("%s: got %+v, want all sent", name, res)
			}
			r.stopsCleanly()
		}
	})
}

// A source that is shorter than it was is no error of the connection.
func TestTheKernelCopiesWhatThereIs(t *testing.T) {
	f, data := randomFile(t, 100_000)
	eachModel(t, func(t *testing.T, w Way) {
		near, far := sockets(t)
		go func() { far.Write(data); far.CloseWrite() }() // until the connection is closed
		for name, copyTo := range map[string]func(net.Conn) (int64, error){
			"a file":   func(c net.Conn) (int64, error) { return SendFile(c, f, 0, 1<<30) },
			"a socket": func(c net.Conn) (int64, error) { return Splice(c, near, 1<<30) },
		} {
			s, results := copying(copyTo)
			r := startService(t, w, handlers, s, Options{})
			if got, err := io.ReadAll(r.dialSoon()); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: got %d bytes, %v, want %d, the same", name, len(got), err, len(data))
			}
			if res := receive(t, results, "the end of the copy"); res.sent != int64(len(data)) || res.err != nil {
				t.Errorf("%s: got %+v, want %d bytes sent", name, res, len(data))
			}
			r.stopsCleanly()
		}
		if !near.ended || near.moved != int64(len(data)) {
			t.Errorf("got %+v, want %d bytes and then the end", near, len(data))
		}
	})
}

// A copy to a peer that does not read ends at its deadline, by Close, and with the peer.
func TestACopyByTheKernelEnds(t *testing.T) {
	f, data := randomFile(t, 32<<20)
	eachModel(t, func(t *testing.T, w Way) {
		opened := make(chan net.Conn, 1)
		s, results := copying(func(c net.Conn) (int64, error) { opened <- c; return SendFile(c, f, 0, int64(len(data))) })
		for name, end := range map[string]func(h net.Conn, peer *net.TCPConn){
			"at its deadline": func(h net.Conn, _ *net.TCPConn) { h.SetWriteDeadline(time.Now().Add(time.Millisecond)) },
			"by Close":        func(h net.Conn, _ *net.TCPConn) { h.Close() },
			"with its peer":   func(_ net.Conn, peer *net.TCPConn) { peer.SetLinger(0); peer.Close() },
		} {
			r := startService(t, w, handlers, s, Options{LingerTimeout: time.Millisecond})
			peer := r.dialSoon()
			end(receive(t, opened, "the handler's connection"), peer)
			res := receive(t, results, "the end of the copy")
			if res.err == nil || res.sent >= int64(len(data)) || (name == "at its deadline") != errors.Is(res.err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: got %+v, want an error", name, res)
			}
			peer.Close()
			r.stopsCleanly()
		}
	})
}

func TestTheKernelDoesNotCopyToOtherConnections(t *testing.T) {
	f, _ := randomFile(t, 10)
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	near, _ := sockets(t)
	if n, err := SendFile(newStream(a, new(counterShard), &Options{}), f, 0, 10); n != 0 || err != errors.ErrUnsupported {
		t.Errorf("SendFile of a handler's connection: got %d, %v, want errors.ErrUnsupported", n, err)
	}
	if n, err := SendFile(a, f, 0, 10); n != 0 || err != errors.ErrUnsupported {
		t.Errorf("SendFile: got %d, %v, want errors.ErrUnsupported", n, err)
	}
	if n, err := Splice(a, near, 10); n != 0 || err != errors.ErrUnsupported {
		t.Errorf("Splice: got %d, %v, want errors.ErrUnsupported", n, err)
	}
}

// A file that is not in memory must not be read by a raw system call, which would stop the other
// goroutines of the thread.
func TestAFileOnDiskIsNotCached(t *testing.T) {
	f, data := randomFile(t, 1<<20)
	if _, errno := readCached(int(f.Fd()), 0); errno == syscall.EOPNOTSUPP {
		t.Skip("neither this system nor the file system says what is in memory")
	}
	if !isCached(int(f.Fd()), int64(len(data)-1)) {
		t.Errorf("got that a file just written is not in memory, want that it is")
	}
	if isCached(int(f.Fd()), int64(len(data))) {
		t.Errorf("got that a byte behind the end of the file is in memory, want that it is not")
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	const dontNeed = 4 // POSIX_FADV_DONTNEED
	if _, _, errno := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0); errno != 0 {
		t.Skip("the file system does not drop the file from memory: ", errno)
	}
	if isCached(int(f.Fd()), int64(len(data)-1)) {
		t.Skip("the file system keeps the file in memory")
	}
	if _, err := f.ReadAt(make([]byte, 1), int64(len(data)-1)); err != nil {
		t.Fatal(err)
	}
	if !isCached(int(f.Fd()), int64(len(data)-1)) {
		t.Errorf("got that a byte just read is not in memory, want that it is")
	}
}

// No segment may be held back when the copy has ended.
func TestACopyOfAFileLeavesNoCork(t *testing.T) {
	f, _ := randomFile(t, 1<<20)
	eachModel(t, func(t *testing.T, w Way) {
		corked := make(chan int, 1)
		svc, results := copying(func(c net.Conn) (sent int64, err error) {
			sent, err = SendFile(c, f, 0, 1<<20)
			c.(kernelWriter).writeBy(func(fd int) (int, syscall.Errno) {
				cork, err := syscall.GetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_CORK)
				if err != nil {
					t.Error(err)
				}
				corked <- cork
				return 0, 0
			})
			return sent, err
		})
		r := startService(t, w, handlers, svc, Options{})
		if got, err := io.ReadAll(r.dialSoon()); err != nil || len(got) != 1<<20 {
			t.Errorf("got %d bytes, %v, want %d", len(got), err, 1<<20)
		}
		if res := receive(t, results, "the end of the copy"); res.err != nil {
			t.Error(res.err)
		}
		if got := <-corked; got != 0 {
			t.Errorf("got TCP_CORK %d after the copy, want 0", got)
		}
		r.stopsCleanly()
	})
}
