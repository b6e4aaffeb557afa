package crashdisk

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script carries out writes (a letter, to the block of its number) and flushes ('|').
func script(d *Disk, text string) {
	for i, c := range text {
		if received := d.event(); c == '|' {
			d.flush(received)
		} else {
			d.writeAt(bytes.Repeat([]byte{byte(c)}, blockSize), int64(i)*blockSize, received)
		}
	}
}

// blocks returns the first byte of each block, '.' where it is zero.
func blocks(m *Image, n int) string {
	b := make([]byte, n*blockSize)
	m.read(b, 0)
	var text []byte
	for i := 0; i < len(b); i += blockSize {
		text = append(text, max(b[i], '.'))
	}
	return string(text)
}

func TestAPowerLossKeepsWhatWasFlushed(t *testing.T) {
	d := New(1 << 20)
	script(d, "old")
	d.Record()
	script(d, "...ab|cd|e")
	r := d.Recorded()
	after := func(writesAndFlushes int) int { return 1 + 2*writesAndFlushes } // two events each
	for _, test := range []struct {
		name     string
		position int
		fate     Fate
		want     string
	}{
		{"before the reply to the flush", r.Flushes()[0], Lost, "old......."},
		{"after it", r.Flushes()[0] + 1, Lost, "...ab....."},
		{"at the end, the cache is lost", r.End, Lost, "...ab.cd.."},
		{"at the end, the cache is kept", r.End, Kept, "...ab.cd.e"},
		{"before the second flush, the cache is kept", after(8), Kept, "...ab.cd.."},
	} {
		m, _ := r.Crash(test.position, 512, test.fate)
		if got := blocks(m, 10); got != test.want && "old"+test.want[3:] != got {
			t.Errorf("%s: got the blocks %q, want %q", test.name, got, test.want)
		}
	}
}

// A write that was not replied to when the flush was received may be lost after the flush.
func TestAFlushDoesNotCoverWritesInFlight(t *testing.T) {
	d := New(1 << 20)
	d.Record()
	received, flushed := d.event(), d.event()
	d.writeAt(bytes.Repeat([]byte{'x'}, blockSize), 0, received)
	d.flush(flushed)
	m, lost := d.Recorded().Crash(d.Position(), 512, Lost)
	if got := blocks(m, 1); got != "." || lost != 1 {
		t.Errorf("got the block %q with %d writes lost, want it lost", got, lost)
	}
}

func TestAWriteIsTornAtSectors(t *testing.T) {
	d := New(1 << 20)
	d.Record()
	script(d, "x")
	odd := func(int) func(int) bool { return func(sector int) bool { return sector%2 == 1 } }
	m, lost := d.Recorded().Crash(d.Position(), 1024, odd)
	b := make([]byte, blockSize)
	m.read(b, 0)
	half := append(make([]byte, 1024), bytes.Repeat([]byte{'x'}, 1024)...)
	if want := append(half, half...); !bytes.Equal(b, want) || lost != 1 {
		t.Errorf("got %d bytes of the write and %d writes lost, want its second and fourth KiB", bytes.Count(b, []byte{'x'}), lost)
	}
}

func TestWhatIsShownDoesNotChangeTheImage(t *testing.T) {
	d := New(1 << 20)
	d.Record()
	script(d, "ab|")
	m, _ := d.Recorded().Crash(d.Position(), 512, Random(rand.New(rand.NewPCG(1, 1))))
	d.Show(m)
	script(d, "XY")
	if got := blocks(m, 2); got != "ab" {
		t.Errorf("got the image %q, want %q as before later writes", got, "ab")
	}
}
