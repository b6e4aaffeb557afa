package tcpip

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/serve"
	"weir/tcpip/link"
)

// adder is a session that sends the number of bytes it has received: after their end, and some time
// later.
type adder struct{ n int }

func (a *adder) Input(in []byte, _ *serve.Writer) error {
	a.n += len(in)
	return nil
}

func (a *adder) InputEnd(out *serve.Writer) error {
	out.WriteString("sum ")
	out.WakeAt(time.Now().Add(time.Second))
	return nil
}

func (a *adder) Wake(_ time.Time, out *serve.Writer) error {
	out.WriteString(strconv.Itoa(a.n))
	return io.EOF
}

func (*adder) Close(error) {}

// A session that is a HalfCloser answers after the end of its input.
func TestASessionAnswersAfterTheEndOfItsInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := hosts(t, link.PairConfig{})
		if _, err := b.Serve(":7", serve.Service{Open: func(serve.Conn) serve.Session { return &adder{} }}, serve.Options{}); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, 1, 100_000} {
			c := dial(t, a, "tcp", "10.0.0.2:7")
			c.Write(make([]byte, n))
			c.(*Conn).CloseWrite()
			if got, err := io.ReadAll(c); string(got) != "sum "+strconv.Itoa(n) || err != nil {
				t.Errorf("after the end of %d bytes: got %q, %v, want their sum", n, got, err)
			}
		}
	})
}

// answerer is a session that answers its first input in full, and ends.
type answerer struct{ full []byte }

func (a answerer) Input(_ []byte, out *serve.Writer) error {
	out.Write(a.full)
	return io.EOF
}
func (answerer) Wake(time.Time, *serve.Writer) error { return nil }
func (answerer) Close(error)                         {}

// A session's output arrives although its peer's input is unread when it ends. A peer that does not
// close is reset in the end.
func TestASessionsOutputArrivesThoughInputIsUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := hosts(t, link.PairConfig{})
		full := bytes.Repeat([]byte("answer"), 50_000)
		if _, err := b.Serve(":7", serve.Service{Open: func(serve.Conn) serve.Session { return answerer{full} }}, serve.Options{}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			c := dial(t, a, "tcp", "10.0.0.2:7")
			go c.Write(make([]byte, 1<<20))
			time.Sleep(time.Second)
			if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, full) {
				t.Errorf("got %d of %d bytes and %v, want all and the end", len(got), len(full), err)
			}
			c.Write([]byte("?")) // keeps its end open
		}
		time.Sleep(5 * time.Minute)
		if left := b.accounts(); left != (accounts{}) {
			t.Errorf("the stack holds %+v, want nothing", left)
		}
	})
}

// A peer that takes a little output of an ended session now and then keeps it no longer than
// Options.FlushTimeout and one second for each 1,024 bytes.
func TestAPeerThatTakesOutputTooSlowlyIsReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := hosts(t, link.PairConfig{})
		const timeout = 10 * time.Minute
		full := make([]byte, 4<<20)
		if _, err := b.Serve(":7", serve.Service{Open: func(serve.Conn) serve.Session { return answerer{full} }}, serve.Options{FlushTimeout: timeout}); err != nil {
			t.Fatal(err)
		}
		c := dial(t, a, "tcp", "10.0.0.2:7")
		c.Write([]byte("?"))
		bound := timeout + time.Duration(len(full)/1024)*time.Second
		for part, began := make([]byte, 20<<10), time.Now(); time.Since(began) < bound; time.Sleep(25 * time.Second) {
			if _, err := io.ReadFull(c, part); err != nil {
				t.Fatalf("a peer that takes 800 bytes a second: got the error %v after %v, want none before %v", err, time.Since(began), bound)
			}
		}
		if _, err := io.Copy(io.Discard, c); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("a peer that takes 800 bytes a second for %v: got the error %v, want a reset", bound, err)
		}
	})
}

// echoing is a session that answers as much as it receives.
type echoing struct{ ended chan error } // Close -> the test; capacity 1

func (echoing) Input(in []byte, out *serve.Writer) error {
	out.Write(in)
	return nil
}
func (echoing) Wake(time.Time, *serve.Writer) error { return nil }
func (e echoing) Close(err error)                   { e.ended <- err }

// A stop leaves a session the input that has arrived, and not what its peer goes on to send.
func TestAStopEndsASessionWhosePeerGoesOnSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := hosts(t, link.PairConfig{})
		ended := make(chan error, 1)
		v, err := b.Serve(":7", serve.Service{Open: func(serve.Conn) serve.Session { return echoing{ended} }}, serve.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := dial(t, a, "tcp", "10.0.0.2:7")
		var peer sync.WaitGroup
		peer.Go(func() {
			for err := error(nil); err == nil; {
				_, err = c.Write(make([]byte, 64<<10))
			}
		})
		peer.Go(func() { // takes the answers more slowly than it sends
			for err := error(nil); err == nil; time.Sleep(time.Millisecond) {
				_, err = c.Read(make([]byte, 16<<10))
			}
		})
		time.Sleep(time.Second)
		v.Close()
		select {
		case err := <-ended:
			if err != serve.ErrStopped {
				t.Errorf("the session ended with %v, want ErrStopped", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the session goes on 20 s after the stop, want its end")
		}
		c.Close()
		peer.Wait()
	})
}
