package conn

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"
)

// pair is a line and its client, over the loopback.
func pair(t *testing.T, w *Watch) (*Line, *net.TCPConn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	line := w.Line(server, nil)
	t.Cleanup(func() { client.Close(); line.Close() })
	return line, client.(*net.TCPConn)
}

// eventually waits until what is true.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not hold", what)
		}
	}
}

const second = int64(time.Second)

func TestAReadHasUntilThePhaseAllows(t *testing.T) {
	rules := Rules{Header: 10 * time.Second, Idle: 120 * time.Second, Grace: 20 * time.Second, Rate: 500}
	for _, c := range []struct {
		says        string
		phase       phase
		waited, got int64
		want        int64
	}{
		{"a connection's first request", atFirst, 0, 0, 10},
		{"a further request", atIdle, 0, 0, 120},
		{"the rest of a head", atHead, 4 * second, 0, 6},
		{"a body that just began", atBody, 0, 100, 20},
		{"a body within its grace", atBody, 15 * second, 100, 5},
		{"a body with much behind it", atBody, 15 * second, 500_000, 985},
	} {
		line, _ := pair(t, NewWatch(rules))
		conn := line.Plain()
		conn.phase, conn.waited, conn.bodyBytes = c.phase, c.waited, c.got
		if got := conn.readLimit(7 * second); got != 7*second+c.want*second {
			t.Errorf("%s: %v, want %d s more", c.says, time.Duration(got-7*second), c.want)
		}
	}
	line, _ := pair(t, NewWatch(Rules{}))
	if got := line.Plain().readLimit(7); got != 0 {
		t.Errorf("without rules a read has until %d, want no limit", got)
	}
}

func TestALineIsLateWhenItsReadIs(t *testing.T) {
	line, _ := pair(t, NewWatch(Rules{}))
	line.readBy.Store(5)
	for now, want := range map[int64]bool{4: false, 5: false, 6: true} {
		if got := line.isLate(now, &line.watch.rules); got != want {
			t.Errorf("at %d: late %v, want %v", now, got, want)
		}
	}
	line.readBy.Store(0)
	if line.isLate(1<<60, &line.watch.rules) {
		t.Error("a line that waits for nothing is late")
	}
}

// flood writes until the client's and our buffers are full, so that a write is pending.
func flood(t *testing.T, line *Line) (ended chan error) {
	ended = make(chan error, 1) // from the writer to the test, one
	go func() {
		_, err := line.Write(make([]byte, 64<<20))
		ended <- err
	}()
	last, same := int64(-1), 0
	eventually(t, "the writer is stuck", func() bool {
		time.Sleep(10 * time.Millisecond)
		before := last
		last, _ = line.arrivals()
		if same++; last != before || line.output.Load() != outputWriting || last == 0 && runtime.GOOS == "linux" {
			same = 0
		}
		return same == 25
	})
	return ended
}

func TestAClientThatTakesNothingIsLate(t *testing.T) {
	rules := Rules{Grace: 20 * time.Second, Rate: 500}
	line, client := pair(t, NewWatch(rules))
	ended := flood(t, line)
	for _, step := range []struct {
		at   int64
		want bool
	}{{1, false}, {6 * second, false}, {12 * second, false}, {25 * second, false}, {26 * second, false}, {31 * second, true}} {
		if got := line.isLate(step.at, &rules); got != step.want {
			t.Errorf("after %v: late %v, want %v", time.Duration(step.at), got, step.want)
		}
	}
	client.Close()
	<-ended
}

func TestAClientThatTakesEnoughIsNotLate(t *testing.T) {
	if !seesArrivals {
		t.Skip("progress within a write is not seen here")
	}
	rules := Rules{Grace: 20 * time.Second, Rate: 500}
	line, client := pair(t, NewWatch(rules))
	ended := flood(t, line)
	line.isLate(6*second, &rules)
	before, _ := line.arrivals()
	if _, err := io.CopyN(io.Discard, client, 8<<20); err != nil {
		t.Fatal(err)
	}
	eventually(t, "bytes arrived", func() bool { n, _ := line.arrivals(); return n > before+20*500 })
	if line.isLate(27*second, &rules) {
		t.Error("a client that took megabytes in a grace is late")
	}
	client.Close()
	<-ended
}

func TestAClientThatLeavesAnAnswerWithTheKernelIsLate(t *testing.T) {
	if !seesArrivals {
		t.Skip("what the kernel has yet to send is not seen here")
	}
	rules := Rules{Grace: 20 * time.Second, Rate: 500}
	line, client := pair(t, NewWatch(rules))
	client.SetReadBuffer(4096)
	if _, err := line.Write(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	ended := flood(t, line)
	// the handler gives up, what it wrote is left with the kernel
	line.SetWriteDeadline(time.Unix(1, 0))
	<-ended
	if line.isLate(6*second, &rules) || !line.isLate(27*second, &rules) {
		t.Error("want it late after the grace, not before")
	}
	if _, err := io.CopyN(io.Discard, client, 100); err != nil {
		t.Fatal(err)
	}
}

func TestOutputThatTheClientHasTakenIsSent(t *testing.T) {
	rules := Rules{Grace: 20 * time.Second, Rate: 500}
	line, client := pair(t, NewWatch(rules))
	for at := 6 * second; at < 100*second; at += 6 * second {
		line.Write([]byte("an event now and then"))
		if _, err := client.Read(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		if line.isLate(at, &rules) {
			t.Fatalf("a client that takes all there is is late after %v", time.Duration(at))
		}
		if line.output.Load() != outputSent {
			t.Errorf("output is %d, want outputSent", line.output.Load())
		}
	}
}

func TestWaitingForASourceIsNotTheClientsFault(t *testing.T) {
	if !seesArrivals {
		t.Skip("what the client has yet to acknowledge is not seen here")
	}
	rules := Rules{Grace: 20 * time.Second, Rate: 500}
	line, _ := pair(t, NewWatch(rules))
	line.Writing() // as ReadFrom does, with a source that gives nothing
	if line.isLate(6*second, &rules) || line.isLate(30*second, &rules) || line.isLate(60*second, &rules) {
		t.Error("a client that has everything it was sent is late")
	}
}

func TestTheWatchEndsLateLines(t *testing.T) {
	w := NewWatch(Rules{Header: 80 * time.Millisecond})
	line, client := pair(t, w)
	other, _ := pair(t, w)
	// no values: closed by the test, by the watch's end
	done, ended := make(chan struct{}), make(chan struct{})
	go func() { w.Run(done); close(ended) }()
	line.Await()
	if _, err := client.Read(make([]byte, 1)); err == nil {
		t.Error("a line that is late gets bytes, want its end")
	}
	eventually(t, "the late line is forgotten", func() bool { return w.Open() == 1 && w.Dropped() == 1 })
	close(done)
	<-ended
	empty := w.Empty()
	select {
	case <-empty:
		t.Error("empty while a line is open")
	default:
	}
	other.Close()
	<-empty
}

func TestStopEndsLinesThatNothingCameOn(t *testing.T) {
	w := NewWatch(Rules{})
	fresh, client := pair(t, w)
	used, _ := pair(t, w)
	used.Use()
	w.Stop()
	if _, err := client.Read(make([]byte, 1)); err == nil {
		t.Error("a fresh line is still open")
	}
	if n := w.Open(); n != 1 {
		t.Errorf("%d lines are open, want the used one", n)
	}
	late, _ := pair(t, w)
	if _, err := late.Write([]byte("x")); err == nil {
		t.Error("a line that comes after the stop is open")
	}
	_ = fresh
}
