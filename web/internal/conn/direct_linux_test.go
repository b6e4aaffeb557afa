package conn

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"
)

// near is a line that reads and writes directly, and the client's end of its connection.
func near(t *testing.T) (*Line, *net.TCPConn) {
	t.Helper()
	line, far := pair(t, NewWatch(Rules{}))
	if line.direct.raw == nil {
		t.Fatal("the line does not read directly")
	}
	return line, far
}

func TestDirectMovesWhatThereIs(t *testing.T) {
	line, far := near(t)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // more than the kernel's buffers hold
	var wg sync.WaitGroup
	wg.Go(func() {
		got, err := io.ReadAll(far)
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%d of %d bytes came, %v", len(got), len(sent), err)
		}
		if _, err := far.Write(got); err != nil {
			t.Error(err)
		}
		far.CloseWrite()
	})
	for rest := sent; len(rest) > 0; {
		n, err := line.Write(rest[:min(len(rest), 50_000)])
		if err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	line.tcp.CloseWrite()
	got, err := io.ReadAll(line)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d of %d bytes came back, %v", len(got), len(sent), err)
	}
	if n, err := line.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("behind the end: %d, %v", n, err)
	}
	wg.Wait()
}

// TestDirectErrorsAreThoseOfTheConnection wants net/http to take each for what it is.
func TestDirectErrorsAreThoseOfTheConnection(t *testing.T) {
	line, far := near(t)
	p := make([]byte, 10)
	line.SetReadDeadline(time.Now().Add(-time.Second))
	_, err := line.Read(p)
	timeout, ok := errors.AsType[net.Error](err)
	if !ok || !timeout.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("behind the deadline: %v", err)
	}
	if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "read" {
		t.Errorf("%#v is no failure to read", err)
	}
	line.SetReadDeadline(time.Time{})

	far.SetLinger(0)
	far.Close() // a reset
	_, err = line.Read(p)
	if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "read" || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("of a connection that was reset: %v", err)
	}
	if _, err = line.Write(p); !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("to a connection that was reset: %v", err)
	}
	line.Close()
	if _, err = line.Read(p); !errors.Is(err, net.ErrClosed) {
		t.Errorf("from a closed connection: %v", err)
	}
	if _, err = line.Write(p); !errors.Is(err, net.ErrClosed) {
		t.Errorf("to a closed connection: %v", err)
	}
}

// TestDirectWaitsAreInterrupted closes, and sets a deadline, while a read waits.
func TestDirectWaitsAreInterrupted(t *testing.T) {
	for what, interrupt := range map[string]func(*Line){
		"closing":    func(l *Line) { l.Close() },
		"a deadline": func(l *Line) { l.SetReadDeadline(time.Now()) },
	} {
		line, _ := near(t)
		ended := make(chan error, 1) // from the reader to the test, one
		go func() {
			_, err := line.Read(make([]byte, 1))
			ended <- err
		}()
		for !line.direct.in.busy.Load() {
			time.Sleep(time.Millisecond)
		}
		interrupt(line)
		if err := <-ended; err == nil {
			t.Errorf("%s ends a read without an error", what)
		}
	}
}

// TestSeveralMayUseALine has readers and writers meet: each byte comes once.
func TestSeveralMayUseALine(t *testing.T) {
	line, far := near(t)
	const writers, each = 4, 2000
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				if _, err := line.Write([]byte("x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		if _, err := io.CopyN(far, far, writers*each); err != nil { // an echo
			t.Error(err)
		}
		far.CloseWrite()
	})
	var mu sync.Mutex
	total := 0
	for range 2 {
		wg.Go(func() {
			p := make([]byte, 100)
			for {
				n, err := line.Read(p)
				mu.Lock()
				total += n
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	if total != writers*each {
		t.Errorf("%d bytes came back, want %d", total, writers*each)
	}
}
