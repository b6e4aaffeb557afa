package fcgi

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// said returns what an application sends with some bytes, by a simple reference parser that reads
// record by record.
func said(b []byte) (stdout, stderr []byte, exit uint32, whole bool) {
	for len(b) >= headerSize && b[0] == version {
		kind, of := Type(b[1]), int(b[2])<<8|int(b[3])
		size, padding := int(b[4])<<8|int(b[5]), int(b[6])
		b = b[headerSize:]
		content := b[:min(size, len(b))]
		switch {
		case of != requestID:
		case kind == Stdout:
			stdout = append(stdout, content...)
		case kind == Stderr:
			stderr = append(stderr, content...)
		case kind == EndRequest:
			if len(content) < size || size < 5 || ProtocolStatus(content[4]) != RequestComplete {
				return stdout, stderr, 0, false
			}
			return stdout, stderr, uint32(content[0])<<24 | uint32(content[1])<<16 | uint32(content[2])<<8 | uint32(content[3]), true
		}
		b = b[min(size+padding, len(b)):]
	}
	return stdout, stderr, 0, false
}

// FuzzRecords compares the reader with that parser: its output, and that it reports incomplete
// responses.
func FuzzRecords(f *testing.F) {
	end := AppendRecord(nil, EndRequest, requestID, []byte{0, 0, 0, 3, 0, 0, 0, 0})
	page := AppendRecord(AppendStream(nil, Stdout, requestID, []byte("Content-Type: text/plain\n\nhello")), Stderr, requestID, []byte("a warning"))
	for _, seed := range [][]byte{
		append(bytes.Clone(page), end...), page, end, end[:12], append(AppendRecord(nil, Stdout, 2, []byte("of another")), end...),
		AppendRecord(nil, EndRequest, requestID, []byte{0, 0, 0, 0, 2}), AppendRecord(nil, EndRequest, requestID, nil), []byte("HTTP/1.1 500\r\n\r\n"),
		append(Header{Type: Stdout, ID: requestID, Content: 3, Padding: 255}.Append(nil), "abc"...), AppendRecord(nil, Type(77), 0, make([]byte, 20_000)),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		conn, other := net.Pipe() // for its deadlines
		defer conn.Close()
		defer other.Close()
		var stderr bytes.Buffer
		r := &Request{conn: conn, in: bufio.NewReaderSize(bytes.NewReader(b), 16), stderr: &stderr, idleTimeout: time.Hour}
		got, err := io.ReadAll(r)
		stdout, warned, exit, whole := said(b)
		if !bytes.Equal(got, stdout) || !bytes.Equal(stderr.Bytes(), warned) || (err == nil) != whole || err == nil && uint32(r.Exit()) != exit {
			t.Fatalf("got %q, %q, exit %d, %v\nwant %q, %q, exit %d, whole: %v", got, stderr.Bytes(), r.Exit(), err, stdout, warned, exit, whole)
		}
	})
}

// FuzzEnd checks the record that ends a request against its specification.
func FuzzEnd(f *testing.F) {
	f.Add([]byte{0, 0, 0, 7, 2, 0, 0, 0})
	f.Add([]byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		exit, status, err := ParseEnd(b)
		if (err != nil) != (len(b) < 5) {
			t.Fatalf("%d bytes: got %v, want an error for less than 5", len(b), err)
		}
		if err == nil && !bytes.HasPrefix(b, []byte{byte(exit >> 24), byte(exit >> 16), byte(exit >> 8), byte(exit), byte(status)}) {
			t.Fatalf("% x: got %d, %d, want the first 5 bytes", b, exit, status)
		}
	})
}
