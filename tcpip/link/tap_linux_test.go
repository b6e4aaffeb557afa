package link

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"weir/wire"
)

// spaces numbers the namespaces of a run.
var spaces atomic.Int32

// namespace makes a network namespace for the test, without IPv6, which would send router and
// listener queries. Without the privileges, the test is skipped.
func namespace(t testing.TB) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("a TAP device in a namespace of its own needs root")
	}
	name := fmt.Sprintf("weirlink%d-%d", os.Getpid(), spaces.Add(1))
	var s undoStack
	if err := makeNamespace(name, &s); err != nil {
		t.Skipf("no namespace is to be had: %v", err)
	}
	t.Cleanup(func() {
		if err := s.undoAll(); err != nil {
			t.Error(err)
		}
	})
	err := inNamespace(name, func() error { return os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0) })
	// without the file there is no IPv6
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Skipf("IPv6 cannot be switched off in a namespace: %v", err)
	}
	return name
}

func inside(t testing.TB, namespace string, do func() error) {
	t.Helper()
	if err := inNamespace(namespace, do); err != nil {
		t.Fatal(err)
	}
}

// prepared sets a device up until the test ends.
func prepared(t testing.TB, c SetupConfig) {
	t.Helper()
	undo, err := Setup(c)
	if err != nil {
		if _, missing := os.Stat("/dev/net/tun"); missing != nil {
			t.Skipf("there is no tun driver: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := undo(); err != nil {
			t.Error(err)
		}
	})
}

// opened opens a device until the test ends.
func opened(t testing.TB, c TapConfig) *Tap {
	t.Helper()
	tap, err := OpenTap(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tap.Close() })
	return tap
}

// tapped returns a device with the kernel's packet socket as the other side.
func tapped(t testing.TB, c TapConfig) station {
	c.Namespace = namespace(t)
	c.Name = "tap0"
	prepared(t, SetupConfig{Tap: c.Name, Namespace: c.Namespace, Queues: c.Queues})
	tap := opened(t, c)
	fd := packetSocket(t, c.Namespace, c.Name, typeTest)
	return station{
		link: tap,
		send: func(t testing.TB, frame []byte) {
			_, err := unix.Write(fd, frame)
			if err == unix.ENETDOWN { // reported once, by a later call
				_, err = unix.Write(fd, frame)
			}
			if err != nil {
				t.Fatalf("the other side could not send: got error %v, want its frame accepted", err)
			}
		},
		receive: func(t testing.TB, n int) (got [][]byte) {
			b := make([]byte, 1<<17)
			for range n {
				k, err := unix.Read(fd, b)
				if err != nil {
					t.Fatalf("after %d of %d frames: got error %v, want the other frames", len(got), n, err)
				}
				got = append(got, bytes.Clone(b[:k]))
			}
			return got
		},
	}
}

// packetSocket returns a packet socket for frames of a type on a device. Reads give up after
// waitLimit.
func packetSocket(t testing.TB, namespace, device string, carries wire.EtherType) (fd int) {
	t.Helper()
	protocol := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, uint16(carries)))
	inside(t, namespace, func() (err error) {
		l, err := net.InterfaceByName(device)
		if err != nil {
			return err
		}
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(protocol)); err != nil {
			return err
		}
		wait := unix.NsecToTimeval(int64(waitLimit))
		return errors.Join(
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20),
			unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait),
			unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: l.Index}))
	})
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func TestADeviceThatIsDownDrops(t *testing.T) {
	s := tapped(t, TapConfig{})
	tap := s.link.(*Tap)
	space := currentSpace(t)
	set := func(state func(netlink.Link) error) {
		inside(t, space, func() error {
			l, err := netlink.LinkByName("tap0")
			return errors.Join(err, state(l))
		})
	}
	q := tap.Queue(0)
	set(netlink.LinkSetDown)
	if q.Write(inParts(frame(1, 100))) || q.Counters().Dropped[DropDown] != 1 {
		t.Errorf("a frame for a device that is down: counters %+v, want Write to return false and to count it as down", q.Counters())
	}
	if n, err := q.Read(make([]Frame, 1), 0); n != 0 || err != nil {
		t.Errorf("reading a device that is down: got %d frames, error %v; want neither", n, err)
	}
	set(netlink.LinkSetUp)
	s.send(t, frame(2, 100))
	same(t, want(t, q, 1), [][]byte{frame(2, 100)})
	if !q.Write(inParts(frame(3, 100))) {
		t.Errorf("a device that is up again dropped a frame, want it sent: counters %+v", q.Counters())
	}
	same(t, s.receive(t, 1), [][]byte{frame(3, 100)})
}

// currentSpace returns the namespace made last.
func currentSpace(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("weirlink%d-%d", os.Getpid(), spaces.Load())
}

func TestADeviceThatIsDeletedEndsItsReader(t *testing.T) {
	s := tapped(t, TapConfig{})
	ended := make(chan error, 1) // from the reader: its error
	go func() {
		for batch := make([]Frame, 8); ; {
			if _, err := s.link.Queue(0).Read(batch, -1); err != nil {
				ended <- err
				return
			}
		}
	}()
	inside(t, currentSpace(t), func() error {
		l, err := netlink.LinkByName("tap0")
		return errors.Join(err, netlink.LinkDel(l))
	})
	if err := <-ended; err == nil || errors.Is(err, net.ErrClosed) || !strings.Contains(err.Error(), "tap0") {
		t.Errorf("the reader ended by %v, want an error that says which device is gone", err)
	}
	if s.link.Queue(0).Write(inParts(frame(1, 100))) || s.link.Queue(0).Counters().Dropped[DropClosed] != 1 {
		t.Errorf("a frame for a removed device: counters %+v, want Write to return false and to count it as closed", s.link.Queue(0).Counters())
	}
}

// A burst of pings would fill the default queue of 1,000 frames.
func TestSetupSetsTheQueueLength(t *testing.T) {
	s := tapped(t, TapConfig{})
	var sent [][]byte
	for i := range 3000 {
		sent = append(sent, frame(i, 98))
		s.send(t, sent[i])
	}
	same(t, want(t, s.link.Queue(0), len(sent)), sent)
}

func TestFlowsStayOnTheirQueue(t *testing.T) {
	tap := tapped(t, TapConfig{Queues: 4}).link.(*Tap)
	if tap.Caps().Queues != 4 {
		t.Fatalf("%d queues, want 4", tap.Caps().Queues)
	}
	fd := packetSocket(t, currentSpace(t), "tap0", wire.TypeIPv4)
	for port := range uint16(16) {
		if !tap.Queue(int(port) % 4).Write(&Parts{Head: datagram(port, false)}) {
			t.Fatalf("queue %d dropped a frame, want it sent", port%4)
		}
	}
	for port := range uint16(16) {
		if _, err := unix.Write(fd, datagram(port, true)); err != nil {
			t.Fatal(err)
		}
	}
	batch := make([]Frame, 1)
	for port := range uint16(16) {
		n, err := tap.Queue(int(port)%4).Read(batch, waitLimit)
		if err != nil || n != 1 || !bytes.Equal(batch[0].Bytes, datagram(port, true)) {
			t.Errorf("queue %d: got %d frames, error %v; want the answer to what it sent from port %d", port%4, n, err, port)
		}
	}
}

// datagram returns a UDP datagram from a port to another host, or its answer.
func datagram(port uint16, answer bool) []byte {
	src, dst := netip.AddrPortFrom(netip.MustParseAddr("10.9.0.2"), port), netip.MustParseAddrPort("10.9.0.3:9")
	if answer {
		src, dst = dst, src
	}
	b := wire.AppendEthernet(nil, wire.MAC{2, 0, 0, 0, 0, 8}, wire.MAC{2, 0, 0, 0, 0, 9}, wire.TypeIPv4)
	b = wire.AppendIPv4(b, &wire.IPv4Fields{TTL: 64, Protocol: wire.UDPProtocol, Src: src.Addr(), Dst: dst.Addr(), Payload: 8})
	b = binary.BigEndian.AppendUint16(b, src.Port())
	b = binary.BigEndian.AppendUint16(b, dst.Port())
	return append(b, 0, 8, 0, 0)
}

func TestADeviceHasOneUser(t *testing.T) {
	s := tapped(t, TapConfig{})
	space := currentSpace(t)
	for name, c := range map[string]struct {
		c    TapConfig
		says string
	}{
		"another one has it":         {TapConfig{Name: "tap0"}, "another program"},
		"made for one queue":         {TapConfig{Name: "tap0", Queues: 2}, "single queue"},
		"not a TAP":                  {TapConfig{Name: "lo"}, "not a TAP device"},
		"a name that is too long":    {TapConfig{Name: "sixteen-bytes-xx"}, "at most 15 bytes"},
		"more queues than there are": {TapConfig{Name: "tap1", Queues: 300}, "use fewer"},
	} {
		c.c.Namespace = space
		if tap, err := OpenTap(c.c); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v and %v, want an error that says %q", name, tap, err, c.says)
		}
	}
	if _, err := OpenTap(TapConfig{Name: "tap0", Namespace: "weir-there-is-none"}); err == nil || !strings.Contains(err.Error(), "weir-there-is-none") {
		t.Errorf("a namespace that does not exist: got error %v, want one that names it", err)
	}
	s.send(t, frame(1, 100)) // and the first user still has the device
	same(t, want(t, s.link.Queue(0), 1), [][]byte{frame(1, 100)})
}

func TestMissingTunFeaturesAreNamed(t *testing.T) {
	const old = unix.IFF_TAP | unix.IFF_NO_PI
	for _, c := range []struct {
		known int
		flags uint16
		says  string // empty: nothing
		plain bool   // plain frames are possible
	}{
		{old | unix.IFF_VNET_HDR | unix.IFF_MULTI_QUEUE, old | unix.IFF_VNET_HDR | unix.IFF_MULTI_QUEUE, "", false},
		{old, old, "", false},
		{old, old | unix.IFF_VNET_HDR, "headers", true},
		{old | unix.IFF_VNET_HDR, old | unix.IFF_VNET_HDR | unix.IFF_MULTI_QUEUE, "use one", false},
		{old, old | unix.IFF_VNET_HDR | unix.IFF_MULTI_QUEUE, "use one", false},
	} {
		err := checkFeatures(c.known, c.flags)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) || errors.Is(err, errNoHeaders) != c.plain {
			t.Errorf("knowing %#x and asked for %#x: %v, want %q", c.known, c.flags, err, c.says)
		}
	}
}

func TestTheKernelNamesADevice(t *testing.T) {
	space := namespace(t)
	tap := opened(t, TapConfig{Namespace: space, Queues: 2})
	if tap.Name() == "" || tap.Caps().MTU != 1500 {
		t.Errorf("got the name %q and caps %+v, want a name from the kernel and an MTU of 1500", tap.Name(), tap.Caps())
	}
}

// joined returns two devices with a bridge between them.
func joined(t testing.TB, a, b TapConfig) (*Tap, *Tap) {
	space := namespace(t)
	a.Name, b.Name, a.Namespace, b.Namespace = "tapa", "tapb", space, space
	prepared(t, SetupConfig{Tap: "tapb", Namespace: space})
	prepared(t, SetupConfig{Tap: "tapa", Namespace: space, Bridge: "tapb"})
	first, second := opened(t, a), opened(t, b)
	// A bridge port without a reader had no carrier: wait until the bridge forwards frames.
	for batch, end := make([]Frame, 1), 0; ; end++ {
		first.Queue(0).Write(&Parts{Head: frame(0, 60)})
		if n, err := second.Queue(0).Read(batch, 10e6); err != nil || end > 1000 {
			t.Fatalf("the bridge forwarded no frame of %d, error %v; want one after it has a carrier", end, err)
		} else if n > 0 {
			break
		}
	}
	for n, batch := 1, make([]Frame, 8); n > 0; {
		n, _ = second.Queue(0).Read(batch, 50e6)
	}
	return first, second
}

// isOfFlow reports whether a frame has the Ethernet header of another one. A bridge also forwards
// frames of the kernel's own, such as reports of multicast groups.
func isOfFlow(frame, other []byte) bool {
	const header = 14
	return len(frame) >= header && bytes.Equal(frame[:header], other[:header])
}

func TestSuperframesGoThroughTheKernel(t *testing.T) {
	for name, c := range map[string]struct {
		flags wire.Flags
		cwr   bool
	}{"plain": {wire.ACK | wire.PSH, false}, "with CWR": {wire.ACK | wire.CWR, true}} {
		t.Run(name, func(t *testing.T) {
			a, b := joined(t, TapConfig{}, TapConfig{})
			p := supers(60000, 1400, c.flags)
			p.CWR = c.cwr
			if !a.Queue(0).Write(p) {
				t.Fatalf("the superframe was dropped, want it sent: counters %+v", a.Queue(0).Counters())
			}
			var batch [1]Frame
			for !isOfFlow(batch[0].Bytes, p.AppendTo(nil)) {
				if n, err := b.Queue(0).Read(batch[:], waitLimit); n != 1 || err != nil {
					t.Fatalf("reading the superframe: got %d frames, error %v; want 1", n, err)
				}
			}
			want := p.Offload
			want.ChecksumOK = true
			if got := batch[0]; got.Offload != want || !bytes.Equal(got.Bytes, p.AppendTo(nil)) {
				t.Errorf("%+v with %d bytes has come, want %+v with %d", got.Offload, len(got.Bytes), want, p.Len())
			}
		})
	}
}

// A persistent device keeps the offloads of its last user: a plain user must not receive
// superframes.
func TestSegmentationMatchesTheKernels(t *testing.T) {
	for name, flags := range map[string]wire.Flags{"PSH": wire.ACK | wire.PSH, "FIN": wire.ACK | wire.FIN | wire.PSH, "CWR": wire.ACK | wire.CWR} {
		t.Run(name, func(t *testing.T) {
			a, b := joined(t, TapConfig{}, TapConfig{})
			b.Close()
			b, err := OpenTap(TapConfig{Name: "tapb", Namespace: currentSpace(t), Plain: true})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			p := supers(20001, 1400, flags)
			p.CWR = flags&wire.CWR != 0
			var segments [][]byte
			if f := (Frame{Bytes: p.AppendTo(nil), Offload: p.Offload}); !segmentSuperframe(&f, Ethernet, false, func(s *Frame) { segments = append(segments, bytes.Clone(s.Bytes)) }) {
				t.Fatal("the superframe was not segmented, want its segments")
			}
			if !a.Queue(0).Write(p) {
				t.Fatalf("the superframe was dropped, want it sent: counters %+v", a.Queue(0).Counters())
			}
			var got [][]byte
			for batch := make([]Frame, 8); len(got) < len(segments); {
				n, err := b.Queue(0).Read(batch, waitLimit)
				if n == 0 || err != nil {
					t.Fatalf("after %d of %d segments: got %d frames, error %v; want the kernel's segments", len(got), len(segments), n, err)
				}
				for _, f := range batch[:n] {
					if isOfFlow(f.Bytes, segments[0]) {
						got = append(got, bytes.Clone(f.Bytes))
					}
				}
			}
			same(t, got, segments)
		})
	}
}
