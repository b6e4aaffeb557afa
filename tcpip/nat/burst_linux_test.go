package nat

import (
	"bytes"
	"net"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Datagrams that are sent together arrive as they were given, each with its size and in its order.
func TestABurstSendsDatagramsAsTheyWereGiven(t *testing.T) {
	for _, test := range []struct {
		name  string
		sizes []int
	}{
		{"equal sizes", []int{10, 10, 10}},
		{"a smaller one ends a burst", []int{10, 10, 4, 4, 10}},
		{"a larger one starts a burst", []int{10, 20, 20}},
		{"an empty one", []int{10, 10, 0, 10}},
		{"a large one between", []int{10, 10, burstLargest + 1, 10}},
		{"the largest of a burst, larger than a packet", []int{burstLargest, burstLargest}},
		{"more bytes than a burst holds", slices.Repeat([]int{1400}, 150)},
		{"more datagrams than a burst holds", slices.Repeat([]int{1}, 3*burstMost+1)},
		{"larger than a packet", []int{packet + 1, packet + 1, 10}},
	} {
		for _, segments := range []bool{true, false} {
			f, far := burstFlow(t)
			f.noSegments = !segments
			var b burst
			var want [][]byte
			for i, size := range test.sizes {
				want = append(want, bytes.Repeat([]byte{byte(i)}, size))
				b.add(f, want[i])
			}
			b.flush()
			if whole := slices.Max(test.sizes[:2]) <= packet; segments && f.noSegments == whole {
				t.Errorf("%s: sent together: got %v, want %v", test.name, !f.noSegments, whole)
			}
			for i, w := range want {
				got := make([]byte, largestDatagram)
				n, err := far.Read(got)
				if err != nil || !bytes.Equal(got[:n], w) {
					t.Errorf("%s, segments %v: datagram %d: got %d bytes and %v, want %d bytes", test.name, segments, i, n, err, len(w))
					break
				}
			}
		}
	}
}

// packet is the size of the largest packets that the flow's socket sends.
const packet = 3000

// burstFlow returns a flow and the socket at its far end.
func burstFlow(t *testing.T) (*socketFlow, net.Conn) {
	t.Helper()
	far, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv6loopback})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	far.SetReadBuffer(4 << 20)                     //nolint:errcheck // a lost datagram shows it
	far.SetReadDeadline(time.Now().Add(waitLimit)) //nolint:errcheck // a read shows it
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU, packet); err != nil {
		t.Fatal(err)
	}
	to := far.LocalAddr().(*net.UDPAddr).AddrPort()
	if err := unix.Connect(fd, &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}); err != nil {
		t.Fatal(err)
	}
	return &socketFlow{fd: fd, report: func(err error) { t.Errorf("refused: %v", err) }}, far
}
