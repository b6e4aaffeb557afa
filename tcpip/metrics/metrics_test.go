package metrics

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"weir/tcpip"
	"weir/tcpip/link"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("runtime.handleEvent"))
}

// stack starts a stack until the test ends.
func stack(t *testing.T, l link.Link, addr string) *tcpip.Stack {
	t.Helper()
	s, err := tcpip.New(tcpip.Config{Link: l, Addrs: []netip.Prefix{netip.MustParsePrefix(addr)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// listen listens until the test ends.
func listen(t *testing.T, s *tcpip.Stack, address string) net.Listener {
	t.Helper()
	l, err := s.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// dial connects until the test ends.
func dial(t *testing.T, s *tcpip.Stack, network, address string) net.Conn {
	t.Helper()
	c, err := s.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// gathered returns the stack's metrics: values by name and labels.
func gathered(t *testing.T, s *tcpip.Stack) map[string]float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(NewCollector(s)); err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetValue())
			}
			values[strings.TrimPrefix(f.GetName(), "weir_stack_")+"{"+strings.Join(labels, ",")+"}"] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return values
}

func TestMetricsCountTraffic(t *testing.T) {
	la, lb := link.Pair(link.PairConfig{})
	a, b := stack(t, la, "10.0.0.1/24"), stack(t, lb, "10.0.0.2/24")
	l := listen(t, b, ":80")
	c := dial(t, a, "tcp", "10.0.0.2:80")
	d, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	go c.Write(make([]byte, 100_000)) //nolint:errcheck // the test checks what arrives
	if _, err := io.ReadFull(d, make([]byte, 99_000)); err != nil {
		t.Fatal(err)
	}
	u := dial(t, a, "udp", "10.0.0.2:9")
	u.Write([]byte("unread")) //nolint:errcheck // the drop tells
	// wait for the error
	if _, err := u.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("reading after a datagram to a closed port: got %v, want refused", err)
	}
	if _, err := a.Ping(t.Context(), netip.MustParseAddr("10.0.0.2"), 10); err != nil {
		t.Fatal(err)
	}
	got := gathered(t, b)
	for name, want := range map[string]float64{
		"connections{ESTABLISHED}": 1, "connections{TIME-WAIT}": 0, "listeners{}": 1, "udp_sockets{}": 0, "packets_total{in,link,udp}": 1, "packets_total{in,link,icmp}": 1,
		"packets_total{link,out,icmp}": 2, "packets_dropped_total{udp_port}": 1, "packets_dropped_total{memory}": 0, "frames_dropped_total{link,full}": 0,
		"memory_limit_bytes{connections}": 256 << 20, "memory_limit_bytes{fragments}": 4 << 20, "segments_resent_total{}": 0,
		"syn_cookies_total{given}": 0, "syn_cookies_total{taken}": 0, "time_wait_forgotten_total{}": 0,
	} {
		key := name
		if have, ok := found(got, key); !ok || have != want {
			t.Errorf("metric %s: got %v (present %t), want %v", name, have, ok, want)
		}
	}
	known := 0.0
	for name, n := range got {
		if strings.HasPrefix(name, "neighbours{link") { // in any state
			known += n
		}
	}
	if known != 1 {
		t.Errorf("got %v neighbours, want 1", known)
	}
	for _, name := range []string{"frames_total{link,in}", "bytes_total{link,out}", "packets_total{link,in,tcp}", "packets_total{link,out,tcp}"} {
		if have, ok := found(got, name); !ok || have == 0 {
			t.Errorf("%s: got %v, present: %t; want a count above 0", name, have, ok)
		}
	}
}

// found returns a metric, with its labels in any order.
func found(all map[string]float64, name string) (float64, bool) {
	family, labels, _ := strings.Cut(strings.TrimSuffix(name, "}"), "{")
	want := strings.Split(labels, ",")
	slices.Sort(want)
	for k, v := range all {
		f, ls, _ := strings.Cut(strings.TrimSuffix(k, "}"), "{")
		have := strings.Split(ls, ",")
		slices.Sort(have)
		if f == family && slices.Equal(have, want) {
			return v, true
		}
	}
	return 0, false
}

// Lost segments are retransmitted and counted.
func TestRetransmissionsAreCounted(t *testing.T) {
	la, lb := link.Pair(link.PairConfig{})
	lossy, err := link.Impair(la, link.ImpairConfig{Out: link.Impairment{Loss: 0.05}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	a := stack(t, lossy, "10.0.0.1/24")
	b := stack(t, lb, "10.0.0.2/24")
	l := listen(t, b, ":80")
	c := dial(t, a, "tcp", "10.0.0.2:80")
	go func(c net.Conn) { c.Write(make([]byte, 1<<20)); c.Close() }(c) //nolint:errcheck // the test checks what arrives
	d, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if n, err := io.Copy(io.Discard, d); err != nil || n != 1<<20 {
		t.Fatalf("got %d bytes, error %v; want %d", n, err, 1<<20)
	}
	got := gathered(t, a)
	lost := got["frames_dropped_total{link,lost}"]
	if resent := got["segments_resent_total{}"]; resent == 0 || lost == 0 {
		t.Errorf("got %v frames lost and %v segments retransmitted, want more than 0 of both", lost, resent)
	}
}
