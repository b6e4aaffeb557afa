package tcpip

import (
	"context"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/tcpip/link"
	"weir/tcpip/tcp"
	"weir/wire"
)

// spy is a link that records the TCP headers of its frames.
type spy struct {
	link.Link
	mu       sync.Mutex
	in, out  []wire.TCP
	ttl, tos [2]byte // received, and sent
}

type spyQueue struct {
	link.Queue
	s *spy
}

func (s *spy) Queue(i int) link.Queue { return &spyQueue{s.Link.Queue(i), s} }

func (q *spyQueue) Read(batch []link.Frame, wait time.Duration) (int, error) {
	n, err := q.Queue.Read(batch, wait)
	for _, f := range batch[:n] {
		q.s.note(f.Bytes, &q.s.in, 0)
	}
	return n, err
}

func (q *spyQueue) Write(p *link.Parts) bool {
	q.s.note(p.AppendTo(nil), &q.s.out, 1)
	return q.Queue.Write(p)
}

func (s *spy) note(b []byte, to *[]wire.TCP, way int) {
	e, fault := wire.ParseEthernet(slices.Clone(b))
	if fault != wire.OK {
		return
	}
	ttl, tos, payload := byte(0), byte(0), []byte(nil)
	if v, fault := wire.ParseIPv4(e.Payload()); fault == wire.OK && v.Protocol() == wire.TCPProtocol {
		ttl, tos, payload = v.TTL(), v.TOS(), v.Payload()
	} else if v, fault := wire.ParseIPv6(e.Payload()); fault == wire.OK && v.NextHeader() == wire.TCPProtocol {
		ttl, tos, payload = v.HopLimit(), v.TrafficClass(), v.Payload()
	}
	t, fault := wire.ParseTCP(payload)
	if fault != wire.OK {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	*to = append(*to, t)
	s.ttl[way], s.tos[way] = ttl, tos
}

// kinds returns a header's options in order, with their lengths.
func kinds(t wire.TCP) (all []byte) {
	for o := t.Options(); len(o) > 0; {
		n := 1
		if o[0] > 1 {
			n = int(o[1])
		}
		all = append(all, o[0])
		o = o[n:]
	}
	return all
}

// spied makes a stack on a spy, with the kernel at the other end.
func spied(t *testing.T, of ends, change ...func(*Config)) (*peer, *spy) {
	t.Helper()
	space := newSpace(t)
	tap := device(t, link.SetupConfig{Namespace: space, Tap: "tap0", Addrs: []netip.Prefix{netip.MustParsePrefix(kernelHost + "/24")}}, false)
	s := &spy{Link: tap}
	p := &peer{space: space, device: "tap0", tap: tap, of: of}
	p.addIPv6(t)
	p.stack = hostOn(t, s, stackHost+"/24", append(change, withIPv6)...)
	return p, s
}

// SYNs and SYN-ACKs have the kernel's options in the kernel's order, because peers and middleboxes
// expect them.
func TestKernelSYNsAreAlike(t *testing.T) { ofBothEnds(t, testSYNsAreAsTheKernels) }

func testSYNsAreAsTheKernels(t *testing.T, of ends) {
	p, s := spied(t, of)
	for _, stackDials := range []bool{true, false} {
		s.mu.Lock()
		s.in, s.out = nil, nil
		s.mu.Unlock()
		p.pair(t, stackDials)
		s.mu.Lock()
		kernels, ours := s.in[0], s.out[0]
		s.mu.Unlock()
		theirs, fault := wire.ParseTCPOptions(kernels.Options())
		our, fault2 := wire.ParseTCPOptions(ours.Options())
		if fault != wire.OK || fault2 != wire.OK || kernels.Flags()&wire.SYN == 0 || ours.Flags()&wire.SYN == 0 {
			t.Fatalf("the first segments: got flags %v from the kernel and %v from the stack, want SYNs with valid options", kernels.Flags(), ours.Flags())
		}
		t.Logf("the kernel's %v: options %v MSS %d scale %d window %d TTL %d", kernels.Flags(), kinds(kernels), theirs.MSS, theirs.WindowScale, kernels.Window(), s.ttl[0])
		t.Logf("the stack's %v: options %v MSS %d scale %d window %d TTL %d", ours.Flags(), kinds(ours), our.MSS, our.WindowScale, ours.Window(), s.ttl[1])
		if !slices.Equal(kinds(kernels), kinds(ours)) || theirs.MSS != our.MSS || s.ttl[0] != s.ttl[1] {
			t.Errorf("the SYNs differ: the stack's has options %v, MSS %d, TTL %d; want the kernel's %v, %d, %d", kinds(ours), our.MSS, s.ttl[1], kinds(kernels), theirs.MSS, s.ttl[0])
		}
	}
}

// ECN is negotiated with the kernel in both directions (RFC 3168).
func TestKernelAgreesOnECN(t *testing.T) { ofBothEnds(t, testKernelAgreesOnECN) }

func testKernelAgreesOnECN(t *testing.T, of ends) {
	p, s := spied(t, of, func(c *Config) { c.TCP.ECN = tcp.RequestECN })
	if err := p.inside(func() error { return os.WriteFile("/proc/sys/net/ipv4/tcp_ecn", []byte("1"), 0) }); err != nil {
		t.Skip("ECN cannot be enabled in the kernel: ", err)
	}
	// a SYN that is sent again, because an address was not usable yet, has no ECN
	until(t, "both ends know each other's hardware address", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := p.stack.Ping(ctx, netip.MustParseAddr(of.kernel), 8)
		return err == nil
	})
	for _, stackDials := range []bool{true, false} {
		a, b := p.pair(t, stackDials)
		if _, err := a.Write([]byte("data")); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Read(make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		raw, err := b.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var info *unix.TCPInfo
		if err := raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }); err != nil || info == nil {
			t.Fatal(err)
		}
		const agreed, seen = 8, 16 // TCPI_OPT_ECN, TCPI_OPT_ECN_SEEN
		if info.Options&agreed == 0 || info.Options&seen == 0 {
			t.Errorf("with the stack dialing %t: the kernel's TCP_INFO has options %#x, want ECN agreed (8) and seen (16)", stackDials, info.Options)
		}
		s.mu.Lock()
		if s.tos[1] != ecnCapable && s.tos[1] != 0 {
			t.Errorf("the stack's segments have TOS %d, want ECT(0) or 0", s.tos[1])
		}
		s.mu.Unlock()
	}
}
