package streamload

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/freeport"
	"weir/lab/load"
)

// eventually waits for a condition, for longer than any machine should need.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not true within 30 s, want it: %s", what)
		}
	}
}

func small(target string) Config {
	return Config{Target: target, Connections: 8, Rate: 200, Size: 100, Duration: 300 * time.Millisecond, Seed: 7}
}

// whole checks that every text is that of a different connection, without a lost or duplicated
// byte.
func whole(t *testing.T, p *payload, texts [][]byte) {
	t.Helper()
	for i := range texts {
		found := false
		for k, text := range texts {
			if text != nil && bytes.Equal(text, read(p, i, 0, len(text))) {
				texts[k], found = nil, true
				break
			}
		}
		if !found {
			t.Errorf("got no text that equals that of connection %d, want one", i)
		}
	}
}

func total(texts [][]byte) (n int64) {
	for _, text := range texts {
		n += int64(len(text))
	}
	return n
}

func TestEverythingOfferedArrives(t *testing.T) {
	for _, pattern := range []string{load.Staggered, load.Together, load.Poisson} {
		t.Run(pattern, func(t *testing.T) {
			var k sink
			s := serve(t, "127.0.0.1:0", k.handle)
			c := small(s.addr)
			c.Pattern = pattern
			r, err := Run(t.Context(), c, load.Events{})
			if err != nil || len(r.Errors) > 0 {
				t.Fatalf("got error %v, errors %v; want none", err, r.Errors)
			}
			texts := k.received(t, c.Connections)
			if r.Messages+r.Owed != r.Offered {
				t.Errorf("got %d sent and %d owed, want %d in sum, as offered", r.Messages, r.Owed, r.Offered)
			}
			if got := total(texts); got < r.Bytes || got > r.Bytes+r.Owed*int64(c.Size) || r.Bytes != r.Messages*int64(c.Size) {
				t.Errorf("got %d bytes received, %d counted in %d messages of %d bytes with %d owed; want whole messages counted, and at most the owed ones in addition", got, r.Bytes, r.Messages, c.Size, r.Owed)
			}
			if want := int64(8 * 200 * 0.3); pattern != load.Poisson && r.Offered != want {
				t.Errorf("got %d messages offered, want %d", r.Offered, want)
			}
			whole(t, newPayload(c.Size), texts)
		})
	}
}

func TestBitsArriveAsTheirText(t *testing.T) {
	var k sink
	s := serve(t, "127.0.0.1:0", k.handle)
	r, err := Run(t.Context(), Config{Target: s.addr, Connections: 4, Bits: 1e6, Size: 8, Duration: 200 * time.Millisecond}, load.Events{})
	if err != nil || r.Messages == 0 || r.Writes == 0 || r.Pattern != load.Together {
		t.Fatalf("got error %v, %+v; want messages, written together", err, r)
	}
	for _, text := range k.received(t, 4) {
		if want := strings.Repeat(bitsText, len(text)/8+1)[:len(text)]; string(text) != want {
			t.Errorf("got %.40q..., want the text repeated", text)
		}
	}
}

func TestEveryKindOfAddressIsDialed(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "[::1]", "localhost"} {
		t.Run(host, func(t *testing.T) {
			s := serve(t, host+":0", echo)
			_, port, _ := net.SplitHostPort(s.addr)
			c := small(host + ":" + port)
			c.Echo = true
			if r, err := Run(t.Context(), c, load.Events{}); err != nil || r.Echoed == 0 || len(r.Errors) > 0 {
				t.Errorf("got error %v, %d echoes, errors %v; want echoes without an error", err, r.Echoed, r.Errors)
			}
		})
	}
}

// TestFullConnectionKeepsItsSchedule: a server that stops reading makes messages wait, and none is
// lost.
func TestFullConnectionKeepsItsSchedule(t *testing.T) {
	goOn := make(chan struct{}) // the test -> every handler: continue reading; closed by the test
	var k sink
	s := serve(t, "127.0.0.1:0", func(c net.Conn) { <-goOn; k.handle(c) })
	release := sync.OnceFunc(func() { close(goOn) })
	defer release()
	c := Config{Target: s.addr, Connections: 3, Rate: 500, Size: 60_000}
	commands := make(chan load.Command, 1) // this test -> Run; one command
	commands <- load.Command{Measure: 3 * time.Second}
	close(commands)
	still, last := 0, int64(-1)
	r, err := Run(t.Context(), c, load.Events{Commands: commands, Every: 20 * time.Millisecond, Progress: func(p load.Progress) {
		if still++; p.Sent != last || p.Sent == 0 {
			still, last = 0, p.Sent
		}
		if still == 10 { // the connection is full
			release()
		}
	}})
	if err != nil || len(r.Errors) > 0 {
		t.Fatalf("got error %v, errors %v; want none", err, r.Errors)
	}
	release()
	texts := k.received(t, c.Connections)
	if r.Behind == 0 {
		t.Error("got no message counted as behind, want some")
	}
	if r.Messages+r.Owed != r.Offered {
		t.Errorf("got %d sent and %d owed, want %d in sum, as offered", r.Messages, r.Owed, r.Offered)
	}
	if sent := (r.Messages + r.WarmMessages) * int64(c.Size); total(texts) < sent {
		t.Errorf("got %d bytes received, want %d", total(texts), sent)
	}
	whole(t, newPayload(c.Size), texts)
}

func TestEchoesAreCheckedAndTimed(t *testing.T) {
	s := serve(t, "127.0.0.1:0", echo)
	for _, pattern := range []string{load.Staggered, load.Together, load.Poisson} {
		c := small(s.addr)
		c.Echo, c.Pattern = true, pattern
		r, err := Run(t.Context(), c, load.Events{})
		if err != nil || len(r.Errors) > 0 || r.Echoed < r.Messages || r.LatencyUS.P50 <= 0 || r.LatencyUS.P50 < r.LatenessUS.P01 {
			t.Errorf("%s: got error %v, %+v; want an echo of every message, and a latency that is no less than the lateness", pattern, err, r)
		}
	}
}

// mistakes are servers that do not echo correctly.
var mistakes = map[string]func(net.Conn){
	"wrong byte": func(c net.Conn) {
		b := make([]byte, 4096)
		for at := 0; ; {
			n, err := c.Read(b)
			if err != nil {
				return
			}
			if at <= 1042 && at+n > 1042 {
				b[1042-at] ^= 1
			}
			at += n
			c.Write(b[:n]) //nolint:errcheck // the client sees it
		}
	},
	"echo missing": func(c net.Conn) {
		io.CopyN(c, c, 550)    //nolint:errcheck // the client sees it
		io.Copy(io.Discard, c) //nolint:errcheck // the client sees it
	},
	// the client sees it
	"closed early": func(c net.Conn) { io.CopyN(io.Discard, c, 100) }, //nolint:errcheck
	"connection reset": func(c net.Conn) {
		c.(*net.TCPConn).SetLinger(0) //nolint:errcheck // a real socket
		c.Read(make([]byte, 1))       //nolint:errcheck // a byte is enough
	},
}

func TestServerMistakesAreNamed(t *testing.T) {
	for kind, handle := range mistakes {
		t.Run(kind, func(t *testing.T) {
			s := serve(t, "127.0.0.1:0", handle)
			c := small(s.addr)
			c.Echo = true
			r, err := Run(t.Context(), c, load.Events{})
			if r.Errors[kind] == 0 || len(r.Details) == 0 {
				t.Errorf("got errors %v (%v), want %q", r.Errors, err, kind)
			}
			if kind == "wrong byte" && !strings.Contains(strings.Join(r.Details, "\n"), "byte 1042 of its echo") {
				t.Errorf("got details %q, want the position of the byte", r.Details)
			}
			if allLost := kind == "closed early" || kind == "connection reset"; allLost != (err != nil) {
				t.Errorf("got error %v, want one: %t (only if all connections are lost)", err, allLost)
			}
		})
	}
}

func TestRepliesToASinkAreDiscarded(t *testing.T) {
	s := serve(t, "127.0.0.1:0", echo)
	if r, err := Run(t.Context(), small(s.addr), load.Events{}); err != nil || r.Discarded == 0 || len(r.Errors) > 0 {
		t.Errorf("got error %v, %d discarded, errors %v; want replies discarded without an error", err, r.Discarded, r.Errors)
	}
}

func TestIdleConnectionsAreHeld(t *testing.T) {
	var k sink
	s := serve(t, "127.0.0.1:0", k.handle)
	c := small(s.addr)
	c.Idle = 20
	if r, err := Run(t.Context(), c, load.Events{}); err != nil || len(r.Errors) > 0 {
		t.Errorf("got error %v, errors %v; want none", err, r.Errors)
	}
	idle := 0
	for _, text := range k.received(t, 28) {
		if len(text) == 0 {
			idle++
		}
	}
	if idle != 20 {
		t.Errorf("got %d idle connections, want 20", idle)
	}
}

func TestIdleConnectionsThatCloseAreCounted(t *testing.T) {
	s := serve(t, "127.0.0.1:0", func(c net.Conn) {})
	r, err := Run(t.Context(), Config{Target: s.addr, Idle: 5, Size: 1, Duration: 300 * time.Millisecond}, load.Events{})
	if err != nil || r.Errors["idle closed early"] != 5 {
		t.Errorf("got error %v, errors %v, want 5 idle closed early", err, r.Errors)
	}
}

func TestChurnOpensEveryShortConnection(t *testing.T) {
	for _, wantEcho := range []bool{false, true} {
		s := serve(t, "127.0.0.1:0", echo)
		r, err := Run(t.Context(), Config{Target: s.addr, Churn: 200, Size: 100_000, Echo: wantEcho, Duration: 300 * time.Millisecond}, load.Events{})
		if err != nil || len(r.Errors) > 0 || r.Churn == nil || r.Churn.Done == 0 || r.Churn.Done != r.Churn.Offered {
			t.Errorf("got error %v, errors %v, churn %+v; want all short connections done without an error", err, r.Errors, r.Churn)
		}
	}
	// the client sees it
	s := serve(t, "127.0.0.1:0", func(c net.Conn) { io.CopyN(c, c, 50) }) //nolint:errcheck
	r, err := Run(t.Context(), Config{Target: s.addr, Churn: 200, Size: 100, Echo: true, Duration: 300 * time.Millisecond}, load.Events{})
	if err != nil || len(r.Errors) == 0 {
		t.Errorf("a server that echoes half a message: got error %v and churn %+v, want errors", err, r.Churn)
	}
}

// TestOverdueChurnIsCounted: with a slow server too, all connections that were due in the window
// are offered, and those that no worker started are behind.
func TestOverdueChurnIsCounted(t *testing.T) {
	// the test -> every handler: continue reading; closed when the window is over
	goOn := make(chan struct{})
	// the client sees it
	s := serve(t, "127.0.0.1:0", func(c net.Conn) { <-goOn; io.Copy(io.Discard, c) }) //nolint:errcheck
	r, err := Run(t.Context(), Config{Target: s.addr, Churn: 1000, Size: 100, Duration: 500 * time.Millisecond},
		load.Events{Measured: func(int64) { close(goOn) }})
	if c := r.Churn; err != nil || len(r.Errors) > 0 || c.Offered != 500 || c.Behind < 500-churnWorkers || c.Done < churnWorkers {
		t.Errorf("got error %v, errors %v, churn %+v, want 500 offered, %d done and the others behind", err, r.Errors, c, churnWorkers)
	}
}

// TestIdleConnectionsAloneHaveAWindow: a window needs no messages.
func TestIdleConnectionsAloneHaveAWindow(t *testing.T) {
	s := serve(t, "127.0.0.1:0", new(sink).handle)
	r, err := Run(t.Context(), Config{Target: s.addr, Idle: 3, Size: 1, Duration: 50 * time.Millisecond}, load.Events{})
	if err != nil || r.WindowNS != 50e6 || r.CPUNS <= 0 {
		t.Errorf("got error %v, report %+v, want a window of 50 ms and the CPU that it took", err, r)
	}
}

func TestUnreachableTargetsAreReported(t *testing.T) {
	closed, err := freeport.Address("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		closed:                        "nothing listens there: start the server or correct the address",
		"no-such-host.invalid:7000":   `the name "no-such-host.invalid" does not resolve`,
		"127.0.0.1:no-such-port-name": "load: can't connect",
	} {
		if _, err := Run(t.Context(), small(target), load.Events{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", target, err, want)
		}
	}
}

func TestInterruptKeepsTheResults(t *testing.T) {
	var k sink
	s := serve(t, "127.0.0.1:0", k.handle)
	ctx, cancel := context.WithCancel(t.Context())
	c := small(s.addr)
	c.Duration = time.Hour
	r, err := Run(ctx, c, load.Events{Every: time.Millisecond, Progress: func(p load.Progress) {
		if p.Sent > 100 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || !r.Interrupt || r.Messages < 100 || r.WindowNS <= 0 || r.Messages+r.Owed != r.Offered {
		t.Errorf("got error %v, %+v; want context.Canceled, and the 100 messages or more until then", err, r)
	}
	whole(t, newPayload(c.Size), k.received(t, c.Connections))
}

// TestTickerAndCollectorGoOn: threads that wait by raw system calls must not block the collector or
// other goroutines, neither idle (one message a second) nor busy.
func TestTickerAndCollectorGoOn(t *testing.T) {
	for _, rate := range []float64{1, 5000} {
		s := serve(t, "127.0.0.1:0", echo)
		// test -> Run, closed to stop; Run's goroutine -> test, one result
		stop, ended := make(chan load.Command), make(chan error)
		sending := make(chan struct{}) // Run -> test: closed when sending
		go func() {
			_, err := Run(context.Background(), Config{Target: s.addr, Connections: 2, Rate: rate, Size: 100, Echo: true},
				load.Events{Commands: stop, Sending: func(int64) { close(sending) }})
			ended <- err
		}()
		<-sending
		ticker := time.NewTicker(time.Millisecond)
		for range 20 {
			<-ticker.C
			runtime.GC()
		}
		ticker.Stop()
		close(stop)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
