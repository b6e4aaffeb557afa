package host

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// chunked returns what a chunkConn reads from these bytes.
func chunked(b []byte, network string) *chunkConn {
	return newChunkConn(nil, bufio.NewReaderSize(bytes.NewReader(b), maxChunk), network)
}

// reader hides the other methods of a connection, so that io.Copy uses Read.
type reader struct{ io.Reader }

// sink is a connection that stores what is written.
type sink struct {
	net.Conn
	bytes.Buffer
}

func (s *sink) Write(b []byte) (int, error) { return s.Buffer.Write(b) }
func (s *sink) Read(b []byte) (int, error)  { return s.Buffer.Read(b) }

func TestChunksReportHowTheyEnd(t *testing.T) {
	for name, c := range map[string]struct {
		bytes string
		want  string
		err   string
	}{
		"well":             {"d\x00\x00\x02abe\x00\x00\x00", "ab", ""},
		"with nothing":     {"e\x00\x00\x00", "", ""},
		"by an error":      {"d\x00\x00\x02abe\x00\x00\x03why", "ab", "why"},
		"too early":        {"d\x00\x00\x02ab", "ab", io.ErrUnexpectedEOF.Error()},
		"in a chunk":       {"d\x00\x00\x09ab", "ab", io.ErrUnexpectedEOF.Error()},
		"by rubbish":       {"d\x00\x00\x02abx\x00\x00\x00", "ab", errChunk.Error()},
		"by one too large": {"d\x01\x00\x01ab", "", errChunk.Error()},
	} {
		got, err := io.ReadAll(chunked([]byte(c.bytes), "tcp"))
		if said := ""; string(got) != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		} else if err != nil {
			if said = err.Error(); said != c.err {
				t.Errorf("%s: %v, want %q", name, err, c.err)
			}
		} else if c.err != "" {
			t.Errorf("%s: no error, want %q", name, c.err)
		}
	}
}

// A deadline in the middle of a chunk loses no data.
func TestChunksContinueAfterADeadline(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	c := newChunkConn(near, bufio.NewReaderSize(near, maxChunk), "tcp")
	go far.Write([]byte("d\x00")) //nolint:errcheck // reading tells
	near.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := c.Read(make([]byte, 9)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	go far.Write([]byte("\x00\x01a")) //nolint:errcheck // reading tells
	near.SetReadDeadline(time.Now().Add(waitLimit))
	b := make([]byte, 9)
	if n, err := c.Read(b); err != nil || string(b[:n]) != "a" {
		t.Errorf("reading after a deadline: got %q, error %v; want %q", b[:n], err, "a")
	}
}

// Written chunks are read back unchanged; other bytes cause an error only.
func FuzzChunks(f *testing.F) {
	f.Add([]byte("d\x00\x00\x02abe\x00\x00\x03why"), 1)
	f.Add([]byte("e\x00\x00\x00"), 70_000)
	f.Fuzz(func(t *testing.T, b []byte, times int) {
		for _, network := range []string{"tcp", "udp"} {
			io.Copy(io.Discard, io.LimitReader(reader{chunked(b, network)}, 1<<20)) //nolint:errcheck // it ends
		}
		written := bytes.Repeat(b, 1+max(0, times%64))
		s := &sink{}
		c := newChunkConn(s, bufio.NewReaderSize(s, maxChunk), "tcp")
		if n, err := c.Write(written); n != len(written) || err != nil {
			t.Fatalf("Write: got %d bytes, error %v; want %d", n, err, len(written))
		}
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("more")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("writing after CloseWrite: got error %v, want net.ErrClosed", err)
		}
		if got, err := io.ReadAll(reader{c}); err != nil || !bytes.Equal(got, written) {
			t.Errorf("%d bytes, want %d (%v)", len(got), len(written), err)
		}
	})
}
