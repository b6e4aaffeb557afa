package tcpip

import (
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"weir/internal/testsize"
)

// stream writes n bytes with a long period, and returns their sum.
func stream(w io.Writer, n int, seed byte) (uint32, error) {
	block := make([]byte, 1<<20+7) // not a power of two, so that misplaced data changes the sum
	rand.NewChaCha8([32]byte{seed}).Read(block)
	sum := uint32(0)
	for n > 0 {
		b := block[:min(n, len(block))]
		sum = crc32.Update(sum, crc32.IEEETable, b)
		if _, err := w.Write(b); err != nil {
			return sum, err
		}
		n -= len(b)
	}
	return sum, nil
}

// drain reads to the end, and returns the sum of all bytes.
func drain(r io.Reader) (sum uint32, n int, err error) {
	for b := make([]byte, 256<<10); ; {
		k, err := r.Read(b)
		sum, n = crc32.Update(sum, crc32.IEEETable, b[:k]), n+k
		if err == io.EOF {
			return sum, n, nil
		}
		if err != nil {
			return sum, n, err
		}
	}
}

// halfCloser is a connection of either end.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// exchange sends n bytes each way at once, and compares.
func exchange(t *testing.T, a, b halfCloser, n int) {
	t.Helper()
	type result struct {
		sum uint32
		n   int
		err error
	}
	ends := []halfCloser{a, b}
	// each of the four goroutines -> the test: one result; what was sent, and what has come
	var sums [2][2]chan result
	for i, from := range ends {
		to, sent, got := ends[1-i], make(chan result, 1), make(chan result, 1)
		sums[i] = [2]chan result{sent, got}
		go func() {
			sum, err := stream(from, n, byte(i))
			if err == nil {
				err = from.CloseWrite()
			}
			sent <- result{sum, n, err}
		}()
		go func() { sum, n, err := drain(to); got <- result{sum, n, err} }()
	}
	for i, way := range []string{"out", "in"} {
		if sent, got := <-sums[i][0], <-sums[i][1]; sent != got {
			t.Errorf("%s: got sum %08x of %d bytes, error %v; want the sent %08x of %d bytes (%v)", way, got.sum, got.n, got.err, sent.sum, sent.n, sent.err)
		}
	}
}

// TestKernelExchangesBulkDataBothWays sends WEIR_BULK_MIB MiB (256 without it) each way at once on
// one connection and compares the checksums of what was sent and what arrived. Without offloads, as
// a network, and by IPv6 it sends less.
func TestKernelExchangesBulkDataBothWays(t *testing.T) {
	whole := testsize.Of(t, "WEIR_BULK_MIB", 128) << 20
	for _, c := range []struct {
		name  string
		plain bool
		run   Run
		size  int
		of    ends
	}{
		{"superframes", false, RunChain, whole, bothEnds[0]}, {"superframes, IPv6", false, RunChain, whole / 4, bothEnds[1]}, {"segments", true, RunChain, whole / 8, bothEnds[0]},
		{"segments, IPv6", true, RunChain, whole / 8, bothEnds[1]}, {"network", false, RunNetwork, whole / 8, bothEnds[0]}, {"network, IPv6", false, RunNetwork, whole / 8, bothEnds[1]},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := kernelOfEnds(t, c.of, c.plain, func(cfg *Config) { cfg.Run = c.run })
			a, b := p.pair(t, true)
			exchange(t, a, b, c.size)
			if old := p.counted(t, "PAWSEstab"); old != "0" {
				t.Errorf("the kernel dropped %s segments for old timestamps, want 0 (PAWS: RFC 7323, section 5)", old)
			}
			a.Close()
			b.Close()
			until(t, "all buffers are given back", func() bool { return p.stack.held() == 0 })
		})
	}
}

// info returns the kernel's TCP_INFO of a connection of its own.
func info(t *testing.T, c *net.TCPConn) unix.TCPInfo {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var got *unix.TCPInfo
	if e := raw.Control(func(fd uintptr) { got, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }); e != nil || err != nil {
		t.Fatalf("TCP_INFO: got errors %v and %v, want none", e, err)
	}
	return *got
}

// alive checks that another connection still works.
func alive(t *testing.T, p *peer) {
	t.Helper()
	a, b := p.pair(t, true)
	exchange(t, a, b, 100_000)
}

// If the stack's application stops reading, the receive window closes, and the stack's memory stays
// limited. The peer probes the window, and continues when the application reads.
func TestKernelFillsTheStacksWindow(t *testing.T) { ofBothEnds(t, testKernelFillsTheStacksWindow) }

func testKernelFillsTheStacksWindow(t *testing.T, of ends) {
	const size = 64 << 20
	p := kernelOfEnds(t, of, false)
	a, b := p.pair(t, false)
	sent := make(chan uint32, 1) // the kernel's end -> the test: the sum
	go func() {
		sum, err := stream(b, size, 1)
		if err != nil {
			t.Error(err)
		}
		b.CloseWrite() //nolint:errcheck // the reader tells
		sent <- sum
	}()
	until(t, "the kernel probes a closed window", func() bool { return info(t, b).Backoff >= 2 })
	if held, most := p.stack.held(), int64(2*a.cfg.ReceiveBuffer.Max); held > most {
		t.Errorf("the stack holds %d bytes for a reader that stopped, want at most the %d bytes of two receive buffers", held, most)
	}
	alive(t, p)
	sum, n, err := drain(a)
	if want := <-sent; sum != want || n != size || err != nil {
		t.Errorf("%08x of %d bytes have come, want %08x of %d (%v)", sum, n, want, size, err)
	}
}

// The same for an application of the kernel that stops reading.
func TestKernelClosesItsWindow(t *testing.T) { ofBothEnds(t, testKernelClosesItsWindow) }

func testKernelClosesItsWindow(t *testing.T, of ends) {
	const size = 64 << 20
	p := kernelOfEnds(t, of, false)
	a, b := p.pair(t, true)
	sent := make(chan uint32, 1) // the stack's end -> the test: the sum
	go func() {
		sum, err := stream(a, size, 2)
		if err != nil {
			t.Error(err)
		}
		a.CloseWrite() //nolint:errcheck // the reader tells
		sent <- sum
	}()
	var stopped unix.TCPInfo // when the last byte had come
	until(t, "the stack probes a closed window", func() bool {
		now := info(t, b)
		if now.Bytes_received != stopped.Bytes_received {
			stopped = now
		}
		return now.Segs_in >= stopped.Segs_in+3
	})
	if held, most := p.stack.held(), int64(2*a.cfg.SendBuffer.Max); held > most {
		t.Errorf("the stack holds %d bytes for a peer that does not read, want at most the %d bytes of two send buffers", held, most)
	}
	alive(t, p)
	sum, n, err := drain(b)
	if want := <-sent; sum != want || n != size || err != nil {
		t.Errorf("%08x of %d bytes have come, want %08x of %d (%v)", sum, n, want, size, err)
	}
}
