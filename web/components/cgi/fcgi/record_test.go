package fcgi

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestHeaderIsEncodedAndInvalidOnesAreRejected(t *testing.T) {
	h := Header{Type: Stdout, ID: 0x1234, Content: 0x5678, Padding: 3}
	b := h.Append(nil)
	if want := []byte{1, 6, 0x12, 0x34, 0x56, 0x78, 3, 0}; !bytes.Equal(b, want) {
		t.Errorf("the header is encoded as % x, want % x", b, want)
	}
	for name, bad := range map[string][]byte{"short": b[:7], "another version": append([]byte{2}, b[1:]...), "text": []byte("HTTP/1.1 200 OK")} {
		if _, err := ParseHeader(bad); err == nil {
			t.Errorf("a header that is %s: got no error, want one", name)
		}
	}
}

func TestBeginAndEnd(t *testing.T) {
	if b := AppendBegin(nil, 1); !bytes.Equal(b, []byte{1, 1, 0, 1, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}) {
		t.Errorf("got % x, want the record of a Responder's request", b)
	}
	if exit, status, err := ParseEnd([]byte{0, 0, 0, 7, 2, 0, 0, 0}); exit != 7 || status != Overloaded || err != nil {
		t.Errorf("got %d %v %v, want 7 and Overloaded", exit, status, err)
	}
	if _, _, err := ParseEnd([]byte{0, 0, 0, 7}); err == nil {
		t.Error("a truncated end: got no error, want one")
	}
	for s, want := range map[ProtocolStatus]string{RequestComplete: "complete", UnknownRole: "role of a Responder", 77: "77"} {
		if !strings.Contains(s.String(), want) {
			t.Errorf("status %d: got the text %s, want %q in it", s, s, want)
		}
	}
}

// records splits bytes into records.
func records(t interface{ Fatalf(string, ...any) }, b []byte, f func(Header, []byte)) {
	for len(b) > 0 {
		h, err := ParseHeader(b)
		size := headerSize + int(h.Content) + int(h.Padding)
		if err != nil || len(b) < size || size%8 != 0 {
			t.Fatalf("got %+v, %v in % x, want a complete record of a multiple of 8 bytes", h, err, b[:min(len(b), 32)])
		}
		f(h, b[headerSize:headerSize+int(h.Content)])
		b = b[size:]
	}
}

func TestStreams(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := bytes.Repeat([]byte("a"), rapid.SampledFrom([]int{0, 1, 7, 8, 1000, streamContent - 1, streamContent, streamContent + 1, MaxContent, 200_000}).Draw(t, "size"))
		var got []byte
		records(t, AppendStream(nil, Stdin, 5, content), func(h Header, part []byte) {
			if h.Type != Stdin || h.ID != 5 || len(part) == 0 {
				t.Fatalf("got %+v, want a record of standard input with content", h)
			}
			got = append(got, part...)
		})
		if !bytes.Equal(got, content) {
			t.Errorf("got %d bytes, want %d", len(got), len(content))
		}
	})
}

func TestParamsAreEncodedWithTheirLengths(t *testing.T) {
	b := AppendParam(AppendParam(nil, "A", "bc"), "LONG", strings.Repeat("x", 128))
	if want := "\x01\x02Abc\x04\x80\x00\x00\x80LONG" + strings.Repeat("x", 128); string(b) != want {
		t.Errorf("got %q, want %q: a length above 127 takes four bytes", b, want)
	}
	for _, bad := range []string{"\x01", "\x05\x00abc", "\x80\x00\x00", "\xff\xff\xff\xff\xff\xff\xff\xff", "\x00\x80\x00\x00"} {
		if err := ParseParams([]byte(bad), func(string, string) {}); err == nil {
			t.Errorf("the parameters %q: got no error, want one", bad)
		}
	}
}

func FuzzParams(f *testing.F) {
	f.Add([]byte("\x01\x02Abc"))
	f.Add(AppendParam(nil, strings.Repeat("n", 300), strings.Repeat("v", 70_000)))
	f.Add([]byte("\xff\xff\xff\xff\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var first, second []Param
		if ParseParams(b, func(n, v string) { first = append(first, Param{n, v}) }) != nil {
			return
		}
		var again []byte
		for _, p := range first {
			again = AppendParam(again, p.Name, p.Value)
		}
		if err := ParseParams(again, func(n, v string) { second = append(second, Param{n, v}) }); err != nil || !slices.Equal(first, second) {
			t.Errorf("%q: %q, %v, want %q", again, second, err, first)
		}
	})
}

func FuzzHeader(f *testing.F) {
	f.Add(Header{Type: Stdout, ID: 1, Content: 8, Padding: 0}.Append(nil))
	f.Add([]byte("HTTP/1.1 200 OK\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseHeader(b)
		if err != nil {
			return
		}
		again, err := ParseHeader(h.Append(nil))
		if err != nil || again != h {
			t.Errorf("got %+v, %v, want %+v", again, err, h)
		}
	})
}
