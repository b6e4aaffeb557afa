package serve

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// eachFanout runs f for every model, with a fan-out by a ring where the kernel takes one, and
// with one that the kernel has refused.
func eachFanout(t *testing.T, f func(t *testing.T, w Way, by *Fanout)) {
	eachInProcess(t, func(t *testing.T, w Way) {
		for name, by := range map[string]*Fanout{"ring": {}, "refused": {refused: true}} {
			t.Run(name, func(t *testing.T) {
				defer by.Close()
				f(t, w, by)
			})
		}
	})
}

// connect opens n connections, and returns both ends of each.
func (r *running) connect(opened chan *reachedSession, n int) (peers []*net.TCPConn, reached []*reachedSession) {
	r.t.Helper()
	for range n {
		peers = append(peers, r.dial())
		reached = append(reached, receive(r.t, opened, "a session"))
	}
	return peers, reached
}

// outgoingTo returns a batch with a text for each session.
func outgoingTo(reached []*reachedSession, text func(i int) []byte) []Outgoing {
	batch := make([]Outgoing, len(reached))
	for i, s := range reached {
		batch[i] = Outgoing{Conn: s.conn, Text: text(i)}
	}
	return batch
}

func TestAFanoutSendsEachTextToItsConnection(t *testing.T) {
	eachFanout(t, func(t *testing.T, w Way, by *Fanout) {
		for _, n := range []int{1, 2, 64, 65, 150} { // 64 fit into one submission
			s, opened := reachableService()
			r := startService(t, w, sessions, s, Options{})
			peers, reached := r.connect(opened, n)
			for round := range 3 {
				batch := outgoingTo(reached, func(i int) []byte { return fmt.Appendf(nil, "%d to %d.", round, i) })
				by.Send(batch)
				for i, o := range batch {
					if !o.Taken {
						t.Errorf("%d connections, round %d: connection %d did not take its text, want it taken", n, round, i)
					}
				}
			}
			for i, c := range peers {
				want := fmt.Sprintf("0 to %d.1 to %d.2 to %d.", i, i, i)
				got := make([]byte, len(want))
				if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
					t.Errorf("%d connections: connection %d got %q, error %v; want %q", n, i, got, err, want)
				}
			}
			if writes := r.meter.Snapshot().Writes; writes != int64(3*n) {
				t.Errorf("%d connections: got %d writes counted, want %d", n, writes, 3*n)
			}
			for _, c := range peers {
				c.Close()
			}
			r.stopsCleanly()
		}
	})
}

// A connection that is in a batch several times gets its texts in their order.
func TestAFanoutKeepsTheOrderOfAConnection(t *testing.T) {
	eachFanout(t, func(t *testing.T, w Way, by *Fanout) {
		s, opened := reachableService()
		r := startService(t, w, sessions, s, Options{})
		peers, reached := r.connect(opened, 2)
		var batch []Outgoing
		for i := range 100 {
			batch = append(batch, Outgoing{Conn: reached[i%2].conn, Text: []byte{byte(i)}})
		}
		by.Send(batch)
		for parity, c := range peers {
			got := make([]byte, 50)
			if _, err := io.ReadFull(c, got); err != nil {
				t.Fatal(err)
			}
			for i, b := range got {
				if int(b) != 2*i+parity {
					t.Fatalf("connection %d: got text %d at place %d, want %d", parity, b, i, 2*i+parity)
				}
			}
		}
		r.stopsCleanly()
	})
}

// Bytes that the kernel does not take are queued up to the limit, and arrive in order. Other
// connections of the batch are not affected.
func TestAFanoutQueuesWhatTheKernelDoesNotTake(t *testing.T) {
	eachFanout(t, func(t *testing.T, w Way, by *Fanout) {
		s, opened := reachableService()
		r := startService(t, w, sessions, s, Options{SendQueue: 300_000, DrainTimeout: 100 * time.Millisecond})
		peers, reached := r.connect(opened, 3)
		text := noise(1, 100_000)
		taken := 0
		for ; taken < 10_000; taken++ { // the second peer does not read
			batch := outgoingTo(reached, func(int) []byte { return text })
			by.Send(batch)
			for _, i := range []int{0, 2} {
				got := make([]byte, len(text))
				if _, err := io.ReadFull(peers[i], got); err != nil || !batch[i].Taken || !bytes.Equal(got, text) {
					t.Fatalf("connection %d: taken %v, got %d bytes, error %v; want the text", i, batch[i].Taken, len(got), err)
				}
			}
			if !batch[1].Taken {
				break
			}
		}
		if n := r.meter.Snapshot().SendsRefused; n != 1 {
			t.Errorf("got %d refused sends counted, want 1", n)
		}
		for i := range taken {
			got := make([]byte, len(text))
			if _, err := io.ReadFull(peers[1], got); err != nil || !bytes.Equal(got, text) {
				t.Fatalf("text %d of %d: got error %v, want the text", i, taken, err)
			}
		}
		r.stopsCleanly()
	})
}

// A connection that has ended takes nothing, even if its peer or another connection has its
// descriptor by then.
func TestAFanoutSkipsConnectionsThatHaveEnded(t *testing.T) {
	eachFanout(t, func(t *testing.T, w Way, by *Fanout) {
		s, opened := reachableService()
		r := startService(t, w, sessions, s, Options{})
		peers, reached := r.connect(opened, 8)
		for i := 0; i < 8; i += 2 {
			reached[i].conn.Close()
			<-reached[i].closed
			eventually(t, "the end of the connection", func() bool { return !reached[i].conn.Send([]byte("x")) })
		}
		others, more := r.connect(opened, 4)
		batch := outgoingTo(reached, func(i int) []byte { return []byte{'a' + byte(i)} })
		by.Send(batch)
		for i, o := range batch {
			if o.Taken != (i%2 == 1) {
				t.Errorf("connection %d: got taken %v, want %v", i, o.Taken, i%2 == 1)
			}
			if i%2 == 1 {
				got := make([]byte, 1)
				if _, err := io.ReadFull(peers[i], got); err != nil || got[0] != 'a'+byte(i) {
					t.Errorf("connection %d: got %q, error %v; want %q", i, got, err, 'a'+byte(i))
				}
			}
		}
		for i, c := range others {
			more[i].conn.Send([]byte("new"))
			got := make([]byte, 3)
			if _, err := io.ReadFull(c, got); err != nil || string(got) != "new" {
				t.Errorf("new connection %d: got %q, error %v; want only its own text", i, got, err)
			}
		}
		r.stopsCleanly()
	})
}

// Several fan-outs, single sends, posts and closes at once: no deadlock, no line is torn, and each
// sender's lines keep their order.
func TestFanoutsAtOnceDoNotMix(t *testing.T) {
	const senders, lines, receivers = 4, 150, 20
	eachInProcess(t, func(t *testing.T, w Way) {
		s, opened := reachableService()
		r := startService(t, w, sessions, s, Options{SendQueue: 64 << 20})
		peers, reached := r.connect(opened, receivers+4)
		var all sync.WaitGroup
		for sender := range senders {
			all.Go(func() {
				var by Fanout
				defer by.Close()
				for n := range lines {
					line := fmt.Appendf(nil, "%d %d %s\n", sender, n, strings.Repeat("x", 100))
					batch := outgoingTo(reached, func(int) []byte { return line })
					for i := range batch { // each in another order
						j := (i*7 + sender*5) % len(batch)
						batch[i], batch[j] = batch[j], batch[i]
					}
					by.Send(batch)
				}
			})
		}
		for _, c := range peers[:receivers] {
			all.Go(func() { readLines(t, c, senders, lines) })
		}
		for _, s := range reached[receivers:] {
			all.Go(func() { s.conn.Send([]byte("0 0 x\n")); s.conn.Post(); s.conn.Close() })
		}
		all.Wait()
		for _, c := range peers {
			c.Close()
		}
		r.stopsCleanly()
	})
}

// readLines reads all lines of the senders, and checks the order of each.
func readLines(t *testing.T, c net.Conn, senders, lines int) {
	next := make([]int, senders)
	text := make([]byte, 0, 1<<20)
	buf := make([]byte, 64<<10)
	for got := 0; got < senders*lines; {
		n, err := c.Read(buf)
		if err != nil {
			t.Errorf("after %d lines: got error %v, want %d lines", got, err, senders*lines)
			return
		}
		text = append(text, buf[:n]...)
		for {
			line, rest, whole := bytes.Cut(text, []byte{'\n'})
			if !whole {
				break
			}
			var sender, number int
			var filling string
			if _, err := fmt.Sscanf(string(line), "%d %d %s", &sender, &number, &filling); err != nil || len(filling) != 100 || number != next[sender] {
				t.Errorf("got the line %.20q, want line %d of its sender, whole", line, next[sender])
				return
			}
			next[sender]++
			got++
			text = rest
		}
	}
}

// foreignConn is a Conn of another package.
type foreignConn struct {
	Conn
	got []byte
}

func (f *foreignConn) Send(p []byte) bool { f.got = append(f.got, p...); return len(p) < 3 }

func TestAFanoutSendsToConnectionsOfOtherPackages(t *testing.T) {
	eachFanout(t, func(t *testing.T, w Way, by *Fanout) {
		s, opened := reachableService()
		r := startService(t, w, sessions, s, Options{})
		peers, reached := r.connect(opened, 2)
		other := new(foreignConn)
		batch := []Outgoing{{Conn: other, Text: []byte("1")}, {Conn: reached[0].conn, Text: []byte("2")},
			{Conn: other, Text: []byte("345")}, {Conn: reached[1].conn, Text: []byte("6")}}
		by.Send(batch)
		if string(other.got) != "1345" || !batch[0].Taken || batch[2].Taken {
			t.Errorf("the other package's connection got %q, results %v and %v; want \"1345\", true and false", other.got, batch[0].Taken, batch[2].Taken)
		}
		for i, want := range []string{"2", "6"} {
			got := make([]byte, 1)
			if _, err := io.ReadFull(peers[i], got); err != nil || string(got) != want {
				t.Errorf("connection %d: got %q, error %v; want %q", i, got, err, want)
			}
		}
		r.stopsCleanly()
	})
}
