package link

import (
	"bytes"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"weir/wire"
)

// station is a link under test with its other side.
type station struct {
	link    Link
	send    func(t testing.TB, frame []byte)   // sends from the other side
	receive func(t testing.TB, n int) [][]byte // receives at the other side
}

// implementations has all implementations of Link.
var implementations = map[string]func(t testing.TB) station{
	"pair":                   func(t testing.TB) station { return paired(t, PairConfig{}, bare) },
	"pair with superframes":  func(t testing.TB) station { return paired(t, PairConfig{Superframe: 65535, Checksum: true}, bare) },
	"pair that asks to wait": func(t testing.TB) station { return paired(t, PairConfig{Buffer: 512 << 10}, bare) },
	"over a stream":          overStream,
	"capture over a pair":    func(t testing.TB) station { return paired(t, PairConfig{}, captured) },
	"nothing to impair":      func(t testing.TB) station { return paired(t, PairConfig{}, impairedBy(ImpairConfig{})) },
	"impair that does nothing": func(t testing.TB) station {
		return paired(t, PairConfig{}, impairedBy(ImpairConfig{Out: Impairment{QueueBytes: 1}, In: Impairment{QueueBytes: 1}}))
	},
	"impair that delays": func(t testing.TB) station {
		return paired(t, PairConfig{}, impairedBy(ImpairConfig{Out: delays, In: delays}))
	},
	"impair over a capture of superframes": func(t testing.TB) station {
		return paired(t, PairConfig{Superframe: 65535, Checksum: true}, func(t testing.TB, l Link) Link {
			return impairedBy(ImpairConfig{Out: Impairment{QueueBytes: 1}})(t, captured(t, l))
		})
	},
	"tap":       func(t testing.TB) station { return tapped(t, TapConfig{}) },
	"plain tap": func(t testing.TB) station { return tapped(t, TapConfig{Plain: true}) },
}

var delays = Impairment{Delay: time.Millisecond, Jitter: time.Millisecond}

func bare(_ testing.TB, l Link) Link { return l }

func captured(t testing.TB, l Link) Link {
	c, err := NewCapture(l, io.Discard, CaptureConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func impairedBy(c ImpairConfig) func(testing.TB, Link) Link {
	return func(t testing.TB, l Link) Link {
		l, err := Impair(l, c)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
}

// paired returns an end of a pair, wrapped, with the other end.
func paired(t testing.TB, c PairConfig, in func(testing.TB, Link) Link) station {
	near, far := Pair(c)
	near = in(t, near)
	t.Cleanup(func() { near.Close(); far.Close() })
	return station{
		link: near,
		send: func(t testing.TB, frame []byte) {
			if !far.Queue(0).Write(inParts(frame)) {
				t.Fatal("the other side could not send, want its frame accepted")
			}
		},
		receive: func(t testing.TB, n int) [][]byte { return want(t, far.Queue(0), n) },
	}
}

func each(t *testing.T, test func(t *testing.T, s station)) {
	for name, open := range implementations {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func TestFramesArriveWholeAndInOrder(t *testing.T) {
	each(t, func(t *testing.T, s station) {
		q, mtu := s.link.Queue(0), s.link.Caps().MTU
		var sent, back [][]byte
		for i := range 300 {
			sent, back = append(sent, frame(i, 16+i*5%(mtu-2))), append(back, frame(1000+i, 16+i*11%(mtu-2)))
		}
		for _, f := range sent {
			s.send(t, f)
		}
		same(t, want(t, q, len(sent)), sent)
		for _, f := range back {
			if !q.Write(inParts(f)) {
				t.Fatal("a frame was dropped, want it sent: its length is within the MTU")
			}
		}
		same(t, s.receive(t, len(back)), back)
		if c := q.Counters(); c.Received != 300 || c.Sent != 300 || c.ReceivedBytes != total(sent) || c.SentBytes != total(back) || c.Dropped != [Drops]uint64{} {
			t.Errorf("counted %+v, want 300 frames each way with %d and %d bytes, and no drops", c, total(sent), total(back))
		}
	})
}

func total(frames [][]byte) (n uint64) {
	for _, f := range frames {
		n += uint64(len(f))
	}
	return n
}

func TestUnsupportedFramesAreRejected(t *testing.T) {
	each(t, func(t *testing.T, s station) {
		q, caps := s.link.Queue(0), s.link.Caps()
		largest := frame(1, caps.MTU+wire.EthernetHeader)
		with := func(o Offload) *Parts { return &Parts{Head: largest, Offload: o} }
		refused := map[string]*Parts{
			"nothing":                         {},
			"less than a header":              {Head: largest[:13]},
			"a header cut in two":             {Head: largest[:13], Body: [2][]byte{largest[13:]}},
			"more than the MTU, and a tag":    {Head: frame(1, caps.MTU+frameOverhead+1)},
			"a superframe without checksums":  with(Offload{SegmentSize: 1000}),
			"segments of a negative size":     with(Offload{SegmentSize: -1}),
			"a checksum in the header":        with(Offload{ChecksumPartial: true, ChecksumStart: 13, ChecksumOffset: 2}),
			"a checksum behind the end":       with(Offload{ChecksumPartial: true, ChecksumStart: 14, ChecksumOffset: len(largest) - 15}),
			"a checksum of what is not there": with(Offload{ChecksumPartial: true, ChecksumStart: len(largest) + 1, ChecksumOffset: 0}),
			"a checksum before its begin":     with(Offload{ChecksumPartial: true, ChecksumStart: 100, ChecksumOffset: -2}),
			"more than a superframe":          {Head: frame(1, caps.Superframe+frameOverhead+1), Offload: Offload{SegmentSize: 1000, ChecksumPartial: true, ChecksumStart: 34, ChecksumOffset: 16}},
		}
		for name, p := range refused {
			if q.Write(p) {
				t.Errorf("%s: Write returned true, want it rejected", name)
			}
		}
		if got := q.Counters().Dropped[DropRefused]; got != uint64(len(refused)) {
			t.Errorf("counted %d as refused, want %d", got, len(refused))
		}
		if !q.Write(&Parts{Head: largest}) {
			t.Error("a frame of the MTU was rejected, want it sent")
		}
		same(t, s.receive(t, 1), [][]byte{largest})
	})
}

func TestFramesAreUnchangedUntilTheNextRead(t *testing.T) {
	each(t, func(t *testing.T, s station) {
		q := s.link.Queue(0)
		first, second := frame(1, 500), frame(2, 500)
		s.send(t, first)
		var batch [4]Frame
		n, err := 0, error(nil)
		for n == 0 || wire.Ethernet(batch[0].Bytes).Type() != typeTest {
			if n, err = q.Read(batch[:1], waitLimit); err != nil {
				t.Fatal(err)
			}
		}
		for range 50 {
			s.send(t, second)
		}
		if !bytes.Equal(batch[0].Bytes, first) {
			t.Error("a frame of a batch changed before the next Read, want it unchanged until then")
		}
		out := bytes.Clone(first)
		q.Write(inParts(out))
		clear(out)
		same(t, s.receive(t, 1), [][]byte{first})
	})
}

func TestReadWaitsForItsTimeout(t *testing.T) {
	each(t, func(t *testing.T, s station) {
		q := s.link.Queue(0)
		var batch [4]Frame
		for _, wait := range []time.Duration{0, time.Nanosecond, 20 * time.Millisecond} {
			begin := time.Now()
			n, err := q.Read(batch[:], wait)
			if n != 0 || err != nil {
				t.Errorf("waiting for %v: got %d frames and error %v, want none", wait, n, err)
			}
			if took := time.Since(begin); took < wait {
				t.Errorf("Read with a timeout of %v returned after %v, want it to wait that long", wait, took)
			}
		}
		s.send(t, frame(1, 100))
		same(t, want(t, q, 1), [][]byte{frame(1, 100)})
	})
}

func TestWakeEndsARead(t *testing.T) {
	each(t, func(t *testing.T, s station) {
		q := s.link.Queue(0)
		for range 20 {
			woken := make(chan error, 1) // from the reader: how its Read ended
			go func() {
				var batch [4]Frame
				n, err := q.Read(batch[:], -1)
				if n != 0 && err == nil {
					err = errors.New("there is a frame")
				}
				woken <- err
			}()
			q.Wake() // before the reader waits, or while it does
			if err := <-woken; err != nil {
				t.Fatal(err)
			}
		}
		begin := time.Now()
		if n, err := q.Read(make([]Frame, 4), 10*time.Millisecond); n != 0 || err != nil || time.Since(begin) < 10*time.Millisecond {
			t.Errorf("a Read without a Wake ended with %d frames and %v after %v, want none after 10 ms", n, err, time.Since(begin))
		}
	})
}

func TestCloseEndsAReaderThatIsAlone(t *testing.T) {
	each(t, func(t *testing.T, s station) {
		// from the reader: it has started, and its error
		reading, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			_, err := s.link.Queue(0).Read(make([]Frame, 1), 0)
			close(reading)
			for err == nil {
				_, err = s.link.Queue(0).Read(make([]Frame, 1), -1)
			}
			ended <- err
		}()
		<-reading
		if err := s.link.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("the Read ended by %v, want net.ErrClosed", err)
		}
		closed(t, s.link)
	})
}

func TestCloseEndsReadersAndWriters(t *testing.T) {
	each(t, func(t *testing.T, s station) {
		q := s.link.Queue(0)
		var busy sync.WaitGroup
		stop := make(chan struct{}) // closed when the link is
		for range 3 {
			busy.Go(func() {
				for f := frame(1, 1000); ; q.Wake() {
					q.Write(inParts(f))
					runtime.Gosched() // one thread may be all there is
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		ended := make(chan error, 1) // from the reader: its error
		go func() {
			for batch := make([]Frame, 8); ; {
				if _, err := q.Read(batch, -1); err != nil {
					ended <- err
					return
				}
			}
		}()
		s.send(t, frame(2, 100))
		if err := s.link.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("the Read under way ended by %v, want net.ErrClosed", err)
		}
		close(stop)
		busy.Wait()
		closed(t, s.link)
	})
}

// closed requires that a link is closed.
func closed(t *testing.T, l Link) {
	t.Helper()
	q := l.Queue(0)
	before := q.Counters().Dropped[DropClosed]
	if q.Write(inParts(frame(3, 100))) {
		t.Error("a closed link sent a frame, want Write to return false")
	}
	if got := q.Counters().Dropped[DropClosed]; got != before+1 {
		t.Errorf("%d frames were dropped because the link was closed, want %d", got, before+1)
	}
	q.Wake()
	for _, wait := range []time.Duration{0, -1} {
		if n, err := q.Read(make([]Frame, 1), wait); n != 0 || !errors.Is(err, net.ErrClosed) {
			t.Errorf("Read gave %d frames and %v, want net.ErrClosed", n, err)
		}
	}
	if err := l.Close(); err != nil {
		t.Errorf("closing a closed link: got error %v, want none", err)
	}
}

func TestQueueReturnsTheSameQueue(t *testing.T) {
	each(t, func(t *testing.T, s station) {
		caps := s.link.Caps()
		if caps.Queues < 1 || caps.MTU <= 0 || caps.MAC.IsGroup() {
			t.Errorf("got the caps %+v, want a queue or more, an MTU above 0 and a MAC address of one host", caps)
		}
		for i := range caps.Queues {
			if s.link.Queue(i) != s.link.Queue(i) {
				t.Errorf("Queue(%d) returned two different queues, want the same one", i)
			}
		}
	})
}
