package link

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

const eventTimeout = 30 * time.Second

// listen runs a link to a new listener and returns the signals that it delivers.
func listen(t *testing.T) (net.Listener, <-chan any) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	signals, over := make(chan any), make(chan struct{})
	go func() {
		defer close(over)
		Run(ctx, func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
		}, func(s any) {
			select {
			case signals <- s:
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() {
		stop()
		l.Close()
		<-over
	})
	return l, signals
}

func next[T any](t *testing.T, signals <-chan any) T {
	t.Helper()
	select {
	case s := <-signals:
		v, ok := s.(T)
		if !ok {
			t.Fatalf("got signal %T (%v), want %T", s, s, v)
		}
		return v
	case <-time.After(eventTimeout):
		t.Fatalf("got no event within %v, want one", eventTimeout)
	}
	panic("unreachable")
}

func TestLinesArriveInOrderAndTheLinkReconnects(t *testing.T) {
	l, signals := listen(t)
	for range 2 {
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		up := next[Up](t, signals)
		up.Conn.MarkHealthy()
		up.Conn.Send([]byte("hello\r\n"))
		up.Conn.Send([]byte("server\r\n"))
		got := make([]byte, 15)
		if _, err := io.ReadFull(server, got); err != nil || string(got) != "hello\r\nserver\r\n" {
			t.Fatalf("server received %q and error %v, want both lines in order", got, err)
		}
		io.WriteString(server, "one\r\ntwo\nthr")
		var lines []string
		for len(lines) < 2 { // the incomplete third line must not delay the others
			lines = append(lines, next[Lines](t, signals)...)
		}
		io.WriteString(server, "ee\r\n")
		if lines = append(lines, next[Lines](t, signals)...); !slices.Equal(lines, []string{"one", "two", "three"}) {
			t.Errorf("lines: got %q, want one, two, three", lines)
		}
		server.Close()
		if down := next[Down](t, signals); !errors.Is(down.Err, io.EOF) || down.Next != Backoff(0) {
			t.Errorf("got %+v, want io.EOF and the shortest backoff", down)
		}
		up.Conn.Send([]byte("too late\r\n")) // must not reach the next connection
	}
}

func TestTooLongLineEndsTheConnection(t *testing.T) {
	l, signals := listen(t)
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	next[Up](t, signals)
	io.WriteString(server, strings.Repeat("x", maxLine+1))
	next[Down](t, signals)
}

func TestServerThatDoesNotReadIsDisconnected(t *testing.T) {
	l, signals := listen(t)
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	up := next[Up](t, signals)
	for range 8 * maxUnsent >> 16 { // more than the socket buffers hold
		up.Conn.Send(make([]byte, 64<<10))
	}
	next[Down](t, signals)
}

// Output that the server has not received when the connection is closed never arrives: the client
// sends it again on the next connection, and it would arrive twice.
func TestCloseDropsWhatTheServerHasNotReceived(t *testing.T) {
	l, signals := listen(t)
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	server.(*net.TCPConn).SetReadBuffer(4096)
	up := next[Up](t, signals)
	up.Conn.Send(make([]byte, 1<<20))
	if _, err := io.ReadFull(server, make([]byte, 1)); err != nil { // it is sending
		t.Fatal(err)
	}
	up.Conn.Close()
	next[Down](t, signals)
	if n, err := io.Copy(io.Discard, server); err == nil {
		t.Errorf("got %d further bytes and the end of the input, want a reset", n)
	}
}

func TestBackoffGrowsTo30Seconds(t *testing.T) {
	if Backoff(0) != 500*time.Millisecond || Backoff(1) != time.Second || Backoff(7) != 30*time.Second || Backoff(1000) != 30*time.Second {
		t.Errorf("backoff of attempts 0, 1, 7, 1000: got %v, %v, %v, %v; want 0.5 s, 1 s, 30 s, 30 s", Backoff(0), Backoff(1), Backoff(7), Backoff(1000))
	}
}
