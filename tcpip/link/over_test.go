package link

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"weir/wire"
)

// overStream returns a link over a stream in memory, and the stream's other end.
func overStream(t testing.TB) station {
	near, far := net.Pipe()
	l, err := Over(Prefixed(near), OverConfig{})
	if err != nil {
		t.Fatal(err)
	}
	other := Prefixed(far)
	t.Cleanup(func() { l.Close(); other.Close() })
	return station{
		link: l,
		send: func(t testing.TB, frame []byte) {
			if _, err := other.Write(frame); err != nil {
				t.Fatal(err)
			}
		},
		receive: func(t testing.TB, n int) (frames [][]byte) {
			for range n {
				b := make([]byte, maxMessage)
				n, err := other.Read(b)
				if err != nil {
					t.Fatal(err)
				}
				frames = append(frames, b[:n])
			}
			return frames
		},
	}
}

func TestALinkOverAStreamSendsSegmentsWithChecksums(t *testing.T) {
	for m, c := range map[Medium]string{Ethernet: "Ethernet", IP: "IP"} {
		near, far := net.Pipe()
		l, err := Over(Prefixed(near), OverConfig{Medium: m})
		if err != nil {
			t.Fatal(err)
		}
		whole := supers(3500, 1000, wire.ACK)
		strip := wire.EthernetHeader - m.HeaderLen()
		whole.Head, whole.ChecksumStart = whole.Head[strip:], whole.ChecksumStart-strip
		if !l.Queue(0).Write(whole) {
			t.Fatalf("%s: a superframe was dropped, want it sent", c)
		}
		payload, b := 0, make([]byte, maxMessage)
		for other := Prefixed(far); payload < 3500; {
			n, err := other.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			v, _ := wire.ParseIPv4(b[m.HeaderLen():n])
			tcp, fault := wire.ParseTCP(v.Payload())
			if fault != wire.OK || !tcp.ChecksumOK(v.Src(), v.Dst()) || len(tcp.Payload()) > 1000 {
				t.Fatalf("%s: got a segment of %d bytes with fault %v, want at most 1,000 and a good checksum", c, len(tcp.Payload()), fault)
			}
			payload += len(tcp.Payload())
		}
		l.Close()
		far.Close()
	}
}

func TestALinkIsGoneWithItsConnection(t *testing.T) {
	near, far := net.Pipe()
	l, err := Over(Prefixed(near), OverConfig{Medium: IP})
	if err != nil {
		t.Fatal(err)
	}
	far.Close()
	for range 2 {
		if _, err := l.Queue(0).Read(make([]Frame, 1), waitLimit); !errors.Is(err, io.EOF) {
			t.Errorf("Read gave %v, want the connection's end", err)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestAPrefixedStreamRejectsLengths(t *testing.T) {
	for name, c := range map[string]struct{ stream, want string }{
		"none":               {"\x00\x00\x00\x00", "a message of 0 bytes"},
		"more than the room": {"\x00\x00\x00\x65", "a message of 101 bytes"},
		"more than any":      {"\xff\xff\xff\xff", "a message of 4294967295 bytes"},
		"an end within":      {"\x00\x00\x00\x02a", "unexpected EOF"},
	} {
		p := Prefixed(onlyReader{strings.NewReader(c.stream)})
		for range 2 { // the error persists
			if _, err := p.Read(make([]byte, 100)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got error %v, want %q", name, err, c.want)
			}
		}
	}
}

// onlyReader is a stream that is only read.
type onlyReader struct{ io.Reader }

func (onlyReader) Write([]byte) (int, error) { return 0, errors.New("not written") }
func (onlyReader) Close() error              { return nil }

func FuzzPrefixed(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x01a\x00\x00\x00\x02bc"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		p := Prefixed(onlyReader{bytes.NewReader(stream)})
		var again []byte
		out := Prefixed(&writeOnly{b: &again})
		for b := make([]byte, 200); ; {
			n, err := p.Read(b)
			if err != nil {
				break
			}
			if _, err := out.Write(b[:n]); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(stream, again) {
			t.Errorf("%x was read and written as %x, want a prefix of it", stream, again)
		}
	})
}

// writeOnly is a stream that is only written.
type writeOnly struct{ b *[]byte }

func (writeOnly) Read([]byte) (int, error) { return 0, io.EOF }
func (writeOnly) Close() error             { return nil }
func (w writeOnly) Write(b []byte) (int, error) {
	*w.b = append(*w.b, b...)
	return len(b), nil
}
