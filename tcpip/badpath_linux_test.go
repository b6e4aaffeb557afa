package tcpip

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/tcpip/link"
)

// place is an end of a bad path: the kernel, or a stack.
type place struct {
	link   link.Link // the path's end of it
	addr   string
	dial   func(address string) (net.Conn, error)
	listen func(address string) (net.Listener, error)
}

// placeAddr returns the address of a place by IPv4 or IPv6.
func placeAddr(ipv6 bool, number byte) netip.Prefix {
	if ipv6 {
		return netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x79, 15: number}), 64)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 79, 0, number}), 24)
}

// kernelPlace is the kernel in a namespace of its own.
func kernelPlace(t testing.TB, addr netip.Prefix) place {
	p := &peer{space: fmt.Sprintf("weirpath%d-%d", os.Getpid(), peers.Add(1)), device: "tap0"}
	tap := device(t, link.SetupConfig{Namespace: p.space, Tap: p.device, Addrs: []netip.Prefix{addr}}, true)
	return place{tap, addr.Addr().String(),
		func(a string) (c net.Conn, err error) {
			return c, errors.Join(p.inside(func() (err error) { c, err = kernelDial(a); return err }))
		},
		func(a string) (l net.Listener, err error) {
			return l, errors.Join(p.inside(func() (err error) { l, err = kernelListen(a); return err }))
		}}
}

// stackPlace is a stack.
func stackPlace(t testing.TB, addr netip.Prefix) place {
	ours, path := link.Pair(link.PairConfig{Depth: 4096})
	s := hostOn(t, ours, addr.String())
	return place{path, addr.Addr().String(), func(a string) (net.Conn, error) { return s.Dial("tcp", a) }, func(a string) (net.Listener, error) { return s.Listen("tcp", a) }}
}

// transferred is the result of a transfer.
type transferred struct {
	bytes int
	err   error
}

// carry sends from one place to another for a while, and returns how many bytes arrived.
func carry(from, to place, port int, d time.Duration) transferred {
	l, err := to.listen(net.JoinHostPort(to.addr, strconv.Itoa(port)))
	if err != nil {
		return transferred{0, err}
	}
	defer l.Close()
	got := make(chan transferred, 1) // the goroutine below -> here: one answer
	go func() {
		c, err := l.Accept()
		if err != nil {
			got <- transferred{0, err}
			return
		}
		defer c.Close()
		c.SetReadDeadline(time.Now().Add(d)) //nolint:errcheck // the reads tell
		n := 0
		for b := make([]byte, 256<<10); err == nil; {
			var k int
			k, err = c.Read(b)
			n += k
		}
		if errors.Is(err, os.ErrDeadlineExceeded) || err == io.EOF {
			err = nil
		}
		got <- transferred{n, err}
	}()
	c, err := from.dial(l.Addr().String())
	if err != nil {
		l.Close()
		<-got
		return transferred{0, err}
	}
	defer c.Close()
	c.SetWriteDeadline(time.Now().Add(d)) //nolint:errcheck // the writes tell
	for b := make([]byte, 256<<10); err == nil; {
		_, err = c.Write(b)
	}
	return <-got
}

// trial is one transfer along a fresh path.
type trial struct {
	mbps    float64
	excess  float64 // sent bytes for each received one, minus 1 and minus the path's loss
	wait    time.Duration
	longest time.Duration
}

// badTrial exchanges data between the kernel and the place at the other end of a path, in either
// direction. Odd seeds use IPv4, even ones IPv6.
func badTrial(t *testing.T, path badPath, seed uint64, stack, sends bool, d time.Duration) (got trial) {
	t.Run("", func(t *testing.T) { // so that namespaces and links are gone when it ends
		ipv6 := seed%2 == 0
		left, right := kernelPlace(t, placeAddr(ipv6, 1)), place{}
		if stack {
			right = stackPlace(t, placeAddr(ipv6, 2))
		} else {
			right = kernelPlace(t, placeAddr(ipv6, 2))
		}
		e := emulate(t, path, seed, left.link, right.link)
		from, to, way := left, right, e.seen[1]
		if sends {
			from, to, way = right, left, e.seen[0]
		}
		f := carry(from, to, 80, d)
		// the path may lose three solicitations in a row
		if errors.Is(f.err, syscall.EHOSTUNREACH) {
			f = carry(from, to, 80, d)
		}
		if f.err != nil {
			t.Fatalf("the transfer: got error %v, want all bytes to arrive", f.err)
		}
		s := way.since()
		got = trial{float64(f.bytes) * 8 / d.Seconds() / 1e6, float64(s.bytes)*(1-path.loss)/float64(f.bytes) - 1, s.meanWait(), s.longest}
	})
	return got
}

// pathCell is a path to measure, and the requirements on it.
type pathCell struct {
	name  string
	path  badPath
	sends bool
	least float64       // of the kernel's throughput
	most  float64       // of it; 0: no requirement
	queue float64       // maximum queueing delay, relative to the kernel's; 0: no requirement
	d     time.Duration // of a trial
}

// checkQueue compares the queueing delays of segments. A kernel that carries less than 0.9 of the
// stack's throughput keeps the queue empty and is no reference: then the limit is a tenth of the
// round trip on average.
func (c *pathCell) checkQueue(t *testing.T, kernels, ours trial) {
	most := time.Duration(c.queue * float64(max(kernels.wait, time.Millisecond)))
	if kernels.mbps < 0.9*ours.mbps {
		most = max(most, c.path.trip/10)
	}
	if ours.wait > most {
		t.Errorf("%s: segments wait for %v in the path's queue, and the kernel's for %v; want at most %v", c.name, ours.wait, kernels.wait, most)
	}
}

// TestABadPathBesideTheKernel compares a stack with the kernel (CUBIC) at one end of an emulated
// path whose other end is the kernel. It takes minutes, and runs if WEIR_BADPATH=ROUNDS is set;
// WEIR_BADPATH_CELLS names the cells, all if it is empty. Rounds alternate, each
// with a seed, and so do the versions of IP.
func TestABadPathBesideTheKernel(t *testing.T) {
	rounds, _ := strconv.Atoi(os.Getenv("WEIR_BADPATH"))
	if rounds == 0 {
		t.Skip("takes minutes: set WEIR_BADPATH to a number of rounds to run it")
	}
	for _, c := range []pathCell{
		{"receive 1%", badPath{50e6, 10 * time.Millisecond, 0.01, 256 << 10}, false, 0.9, 0, 0, 5 * time.Second},
		{"receive 5%", badPath{50e6, 10 * time.Millisecond, 0.05, 256 << 10}, false, 0.9, 0, 0, 5 * time.Second},
		{"receive 10%", badPath{50e6, 10 * time.Millisecond, 0.1, 256 << 10}, false, 0.9, 0, 0, 10 * time.Second},
		{"send 1%", badPath{50e6, 10 * time.Millisecond, 0.01, 256 << 10}, true, 0.9, 0, 0, 5 * time.Second},
		{"send 5%", badPath{50e6, 10 * time.Millisecond, 0.05, 256 << 10}, true, 0.9, 0, 0, 5 * time.Second},
		{"send 10%", badPath{50e6, 10 * time.Millisecond, 0.1, 256 << 10}, true, 0.9, 0, 0, 10 * time.Second},
		{"send far", badPath{50e6, 200 * time.Millisecond, 0, 1 << 20}, true, 0.8, 0, 1.2, 10 * time.Second},
		{"send far, short queue", badPath{50e6, 200 * time.Millisecond, 0, 256 << 10}, true, 0.8, 0, 1.2, 10 * time.Second},
		{"receive far", badPath{50e6, 200 * time.Millisecond, 0, 1 << 20}, false, 0.9, 0, 1.2, 10 * time.Second},
	} {
		if only := os.Getenv("WEIR_BADPATH_CELLS"); only != "" && !slices.Contains(strings.Split(only, ";"), c.name) {
			continue
		}
		var got [2][]trial // the kernel's, and the stack's
		for round := range rounds {
			for turn := range 2 {
				who := (turn + round) % 2
				got[who] = append(got[who], badTrial(t, c.path, uint64(round+1), who == 1, c.sends, c.d))
			}
		}
		kernels, ours := medians(got[0]), medians(got[1])
		share := ours.mbps / kernels.mbps
		t.Logf("%-22s kernel %6.2f Mbit/s, %5.1f%% in excess, queue %6.1f ms (%v most); stack %6.2f, %5.1f%%, %6.1f ms (%v); share %.2f", c.name,
			kernels.mbps, 100*kernels.excess, millis(kernels.wait), kernels.longest.Round(time.Millisecond), ours.mbps, 100*ours.excess, millis(ours.wait), ours.longest.Round(time.Millisecond), share)
		if share < c.least {
			t.Errorf("%s: the stack has %.2f of the kernel's throughput, want %.2f", c.name, share, c.least)
		}
		if c.queue > 0 {
			c.checkQueue(t, kernels, ours)
		}
	}
}

func millis(d time.Duration) float64 { return float64(d) / 1e6 }

// medians returns the median of each figure.
func medians(all []trial) (m trial) {
	middle := func(figure func(trial) float64) float64 {
		var v []float64
		for _, x := range all {
			v = append(v, figure(x))
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	m.mbps, m.excess = middle(func(x trial) float64 { return x.mbps }), middle(func(x trial) float64 { return x.excess })
	m.wait = time.Duration(middle(func(x trial) float64 { return float64(x.wait) }))
	m.longest = time.Duration(middle(func(x trial) float64 { return float64(x.longest) }))
	return m
}

// TestABottleneckIsShared has two senders share one path: two kernels, or a kernel and a stack.
// Neither may take much more than half. It runs if WEIR_BADPATH=ROUNDS is set.
func TestABottleneckIsShared(t *testing.T) {
	rounds, _ := strconv.Atoi(os.Getenv("WEIR_BADPATH"))
	if rounds == 0 {
		t.Skip("takes minutes: set WEIR_BADPATH to a number of rounds to run it")
	}
	for _, c := range []struct {
		name string
		path badPath
	}{
		{"share", badPath{50e6, 20 * time.Millisecond, 0, 256 << 10}},
		{"share 1%", badPath{50e6, 20 * time.Millisecond, 0.01, 256 << 10}},
	} {
		if only := os.Getenv("WEIR_BADPATH_CELLS"); only != "" && !slices.Contains(strings.Split(only, ";"), c.name) {
			continue
		}
		var jain, share [2][]float64 // of two kernels; of a kernel and a stack
		for round := range rounds {
			for turn := range 2 {
				who := (turn + round) % 2
				first, second := shared(t, c.path, uint64(round+1), who == 1, 15*time.Second)
				jain[who] = append(jain[who], (first+second)*(first+second)/2/(first*first+second*second))
				share[who] = append(share[who], second/(first+second))
			}
		}
		for who := range 2 {
			slices.Sort(jain[who])
			slices.Sort(share[who])
		}
		middle := rounds / 2
		t.Logf("%-9s two kernels: Jain's index %.3f, the second has %.2f (%.2f to %.2f); kernel and stack: %.3f, the stack has %.2f (%.2f to %.2f)", c.name,
			jain[0][middle], share[0][middle], share[0][0], share[0][rounds-1], jain[1][middle], share[1][middle], share[1][0], share[1][rounds-1])
		if jain[1][middle] < min(0.9, jain[0][middle]) {
			t.Errorf("%s: Jain's index of a kernel and a stack is %.3f, want %.3f", c.name, jain[1][middle], min(0.9, jain[0][middle]))
		}
	}
}

// shared has two places send along one path at once, and returns the bytes of each.
func shared(t *testing.T, path badPath, seed uint64, stack bool, d time.Duration) (first, second float64) {
	t.Run("", func(t *testing.T) {
		ipv6 := seed%2 == 0
		left, one, two := kernelPlace(t, placeAddr(ipv6, 1)), kernelPlace(t, placeAddr(ipv6, 2)), place{}
		if stack {
			two = stackPlace(t, placeAddr(ipv6, 3))
		} else {
			two = kernelPlace(t, placeAddr(ipv6, 3))
		}
		emulate(t, path, seed, left.link, one.link, two.link)
		other := make(chan transferred, 1) // the goroutine below -> here: one answer
		go func() { other <- carry(one, left, 81, d) }()
		mine := carry(two, left, 82, d)
		f := <-other
		if f.err != nil || mine.err != nil {
			t.Fatalf("the transfers: got errors %v and %v, want all bytes of both to arrive", f.err, mine.err)
		}
		first, second = float64(f.bytes), float64(mine.bytes)
	})
	return first, second
}
