package link

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacket/gopacket/pcapgo"

	"weir/wire"
)

// recorded is a packet in a file.
type recorded struct {
	bytes    []byte
	length   int
	at       time.Time
	outbound bool
}

// readBack reads a capture by gopacket, and requires that it is valid.
func readBack(t *testing.T, file []byte) (pcapgo.NgInterface, pcapgo.NgSectionInfo, []recorded) {
	t.Helper()
	r, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.NgReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all []recorded
	for {
		b, info, options, err := r.ReadPacketDataWithOptions()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("reading packet %d of the capture: got error %v, want a packet or the end", len(all), err)
		}
		if options.Flags == nil {
			t.Fatalf("packet %d of the capture has no flags, want its direction in them", len(all))
		}
		all = append(all, recorded{bytes.Clone(b), info.Length, info.Timestamp, options.Flags.Direction == pcapgo.NgEpbFlagDirectionOutbound})
	}
	i, err := r.Interface(0)
	if err != nil {
		t.Fatal(err)
	}
	return i, r.SectionInfo(), all
}

func TestACaptureHasAllFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		near, far := Pair(PairConfig{Superframe: 65535, Checksum: true})
		c, err := NewCapture(near, &file, CaptureConfig{Name: "weir0", Comment: "a test"})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		large := supers(60001, 1400, wire.ACK)
		var wanted []recorded
		for i := range 10 {
			out, in := frame(i, 60+i), frame(100+i, 1000+i)
			c.Queue(0).Write(inParts(out))
			wanted = append(wanted, recorded{out, len(out), time.Now(), true})
			time.Sleep(time.Second + time.Nanosecond)
			far.Queue(0).Write(inParts(in))
			want(t, c.Queue(0), 1)
			wanted = append(wanted, recorded{in, len(in), time.Now(), false})
		}
		c.Queue(0).Write(large)
		wanted = append(wanted, recorded{large.AppendTo(nil), large.Len(), time.Now(), true})
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		i, section, got := readBack(t, file.Bytes())
		if i.Name != "weir0" || i.LinkType != 1 || i.SnapLength != 1<<18 || section.Application != "weir" || !strings.Contains(section.Comment, "a test") {
			t.Errorf("got the interface %+v and the section %+v; want weir0 of Ethernet with a snap length of %d, by weir, with the comment", i, section, 1<<18)
		}
		if len(got) != len(wanted) || c.Missed() != 0 {
			t.Fatalf("%d packets, %d missed, want %d", len(got), c.Missed(), len(wanted))
		}
		for n, w := range wanted {
			if g := got[n]; !bytes.Equal(g.bytes, w.bytes) || g.length != w.length || !g.at.Equal(w.at) || g.outbound != w.outbound {
				t.Errorf("packet %d: %d of %d bytes at %v, outbound %v; want %d of %d at %v, %v", n, len(g.bytes), g.length, g.at.Sub(begin), g.outbound, len(w.bytes), w.length, w.at.Sub(begin), w.outbound)
			}
		}
	})
}

// The captures of several links are interfaces of one file, in the order in which frames passed. It
// is complete when the last is closed.
func TestCapturesOfSeveralLinksShareAFile(t *testing.T) {
	var file bytes.Buffer
	near, far := Pair(PairConfig{})
	defer far.Close()
	near1, far1 := Pair(PairConfig{Medium: IP})
	defer far1.Close()
	c, err := NewCapture(near, &file, CaptureConfig{Name: "weir0"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Add(near1, strings.Repeat("x", 1001)); err == nil {
		t.Error("Add with a name of 1,001 bytes: got no error, want one")
	}
	c1, err := c.Add(near1, "tun1")
	if err != nil {
		t.Fatal(err)
	}
	packet := frame(1, 100)[14:]
	c.Queue(0).Write(inParts(frame(0, 60)))
	c1.Queue(0).Write(inParts(packet))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c.Queue(0).Write(inParts(frame(2, 60))) // missed: its capture is closed
	c1.Queue(0).Write(inParts(packet))
	if err := c1.Close(); err != nil {
		t.Fatal(err)
	}
	if c.Missed() != 1 || c1.Missed() != 1 {
		t.Errorf("got %d and %d frames missed, want 1 of the file", c.Missed(), c1.Missed())
	}
	if _, err := c.Add(near1, "late"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Add after the last Close: got error %v, want net.ErrClosed", err)
	}
	r, err := pcapgo.NewNgReader(&file, pcapgo.NgReaderOptions{WantMixedLinkType: true})
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []struct{ on, length int }{{0, 60}, {1, 86}, {1, 86}} {
		_, info, err := r.ReadPacketData()
		if err != nil || info.InterfaceIndex != want.on || info.Length != want.length {
			t.Fatalf("packet %d: got %+v, error %v; want %d bytes of interface %d", n, info, err, want.length, want.on)
		}
	}
	if i, err := r.Interface(1); err != nil || i.Name != "tun1" || i.LinkType != linkRaw {
		t.Errorf("got the second interface %+v, error %v; want tun1 of raw IP", i, err)
	}
}

func TestACaptureTruncatesAtSnapLen(t *testing.T) {
	var file bytes.Buffer
	near, far := Pair(PairConfig{})
	defer far.Close()
	c, err := NewCapture(near, &file, CaptureConfig{SnapLen: 61})
	if err != nil {
		t.Fatal(err)
	}
	for n := 16; n < 120; n++ {
		c.Queue(0).Write(inParts(frame(n, n)))
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	i, _, got := readBack(t, file.Bytes())
	if i.SnapLength != 61 || len(got) != 104 {
		t.Fatalf("got %d packets of at most %d bytes, want 104 of at most 61", len(got), i.SnapLength)
	}
	for i, g := range got {
		if n := 16 + i; g.length != n || !bytes.Equal(g.bytes, frame(n, n)[:min(n, 61)]) {
			t.Errorf("a frame of %d bytes: got %d bytes that differ or a length of %d; want its first %d bytes and its length", n, len(g.bytes), g.length, min(n, 61))
		}
	}
}

func TestAFrameIsWrittenAfterTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		near, far := Pair(PairConfig{})
		defer far.Close()
		c, err := NewCapture(near, &file, CaptureConfig{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Queue(0).Write(inParts(frame(1, 100)))
		time.Sleep(captureDelay)
		synctest.Wait()
		if _, _, got := readBack(t, file.Bytes()); len(got) != 1 {
			t.Errorf("after %v there are %d packets in the file, want 1", captureDelay, len(got))
		}
	})
}

// gate is a writer that blocks from its second call on, until it is opened.
type gate struct {
	bytes.Buffer
	open  chan struct{} // closed by the test: writing continues
	calls int
	fail  error // the error of writing once the gate is open
}

// Write implements io.Writer.
func (g *gate) Write(b []byte) (int, error) {
	if g.calls++; g.calls > 1 {
		<-g.open
		if g.fail != nil {
			return 0, g.fail
		}
	}
	return g.Buffer.Write(b)
}

func TestASlowWriterDoesNotBlockTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		near, far := Pair(PairConfig{Depth: 1000})
		defer far.Close()
		c, err := NewCapture(near, g, CaptureConfig{BufferSize: 10000})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			if !c.Queue(0).Write(inParts(frame(i, 1000))) {
				t.Fatalf("frame %d was dropped because of the capture, want it sent", i)
			}
			time.Sleep(captureDelay)
		}
		want(t, far.Queue(0), 50)
		missed := c.Missed()
		if missed < 20 || missed > 40 {
			t.Errorf("got %d of 50 frames missed, want 20 to 40: two buffers of 10,000 bytes hold the others", missed)
		}
		close(g.open)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if _, _, got := readBack(t, g.Bytes()); uint64(len(got)) != 50-missed {
			t.Errorf("got %d packets in the file and %d missed, want 50 together", len(got), missed)
		}
	})
}

func TestAWriteErrorIsReturnedByClose(t *testing.T) {
	full := errors.New("the disk is full")
	g := &gate{open: make(chan struct{}), fail: full}
	close(g.open)
	near, far := Pair(PairConfig{})
	defer far.Close()
	c, err := NewCapture(near, g, CaptureConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		c.Queue(0).Write(inParts(frame(i, 100)))
	}
	want(t, far.Queue(0), 10)
	for range 2 {
		if err := c.Close(); !errors.Is(err, full) {
			t.Errorf("closing gave %v, want that the disk is full", err)
		}
	}
	if c.Missed() != 10 {
		t.Errorf("%d frames are missed, want 10", c.Missed())
	}
}

func TestACaptureThatFailsToStartLeavesTheLink(t *testing.T) {
	near, far := Pair(PairConfig{})
	defer near.Close()
	g := &gate{open: make(chan struct{}), calls: 1, fail: errors.New("the disk is full")}
	close(g.open)
	for name, c := range map[string]CaptureConfig{"the disk": {}, "a Snap of -1": {SnapLen: -1}, "a Buffer of -1": {BufferSize: -1}, "shorten it": {Comment: strings.Repeat("x", 1<<16)}} {
		if _, err := NewCapture(near, g, c); err == nil {
			t.Errorf("%s: NewCapture returned no error, want one", name)
		}
	}
	far.Queue(0).Write(inParts(frame(1, 100)))
	same(t, want(t, near.Queue(0), 1), [][]byte{frame(1, 100)})
	far.Close()
}

func TestTcpdumpReadsACapture(t *testing.T) {
	tcpdump, err := exec.LookPath("tcpdump")
	if err != nil {
		t.Skip("tcpdump is not installed")
	}
	name := filepath.Join(t.TempDir(), "test.pcapng")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	near, far := Pair(PairConfig{Superframe: 65535, Checksum: true})
	defer far.Close()
	c, err := NewCapture(near, file, CaptureConfig{Name: "weir0", Comment: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	c.Queue(0).Write(supers(60000, 1400, wire.ACK|wire.PSH))
	c.Queue(0).Write(inParts(frame(1, 100)))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tcpdump, "-n", "-S", "-r", name).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("10.9.0.1.1000 > 10.9.0.2.2000: Flags [P.]")) || !bytes.Contains(out, []byte("length 60000")) {
		t.Errorf("tcpdump: got error %v and this output, want a segment with PSH and a length of 60000:\n%s", err, out)
	}
}
