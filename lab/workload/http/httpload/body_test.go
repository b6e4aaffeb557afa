package httpload

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"weir/lab/workload/http/httpload/response"
)

var page = strings.Repeat("the page of the tests, 32 bytes\n", 128)

func zipped(t testing.TB, text string, level int) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	z.Write([]byte(text)) //nolint:errcheck // into memory
	z.Close()             //nolint:errcheck // into memory
	return b.Bytes()
}

func TestBodiesAreCompared(t *testing.T) {
	fast, best := zipped(t, page, 1), zipped(t, page, 9)
	broken := bytes.Clone(best)
	broken[len(broken)-5] ^= 1 // of the checksum
	for _, test := range []struct {
		name   string
		gzip   bool
		coding response.Coding
		text   []byte
		want   bool
	}{
		{"the same", false, response.Identity, []byte(page), true},
		{"one byte less", false, response.Identity, []byte(page[1:]), false},
		{"one byte more", false, response.Identity, []byte(page + "x"), false},
		{"another byte at the end", false, response.Identity, []byte(page[:len(page)-1] + "x"), false},
		{"nothing", false, response.Identity, nil, false},
		{"gzip that was not requested", false, response.Gzip, best, false},
		{"another coding", true, response.OtherCoding, []byte(page), false},
		{"no coding although gzip was requested", true, response.Identity, []byte(page), true},
		{"gzip", true, response.Gzip, best, true},
		{"gzip, differently", true, response.Gzip, fast, true},
		{"gzip of something else", true, response.Gzip, zipped(t, page+"x", 9), false},
		{"gzip of the beginning", true, response.Gzip, zipped(t, page[:100], 9), false},
		{"gzip without its end", true, response.Gzip, best[:len(best)-1], false},
		{"gzip with a wrong checksum", true, response.Gzip, broken, false},
		{"no gzip at all", true, response.Gzip, []byte(page), false},
	} {
		for _, size := range []int{1, 100, 1 << 20} {
			s := &bodies{want: []byte(page), gzip: test.gzip}
			for range 2 { // the second time the encoding is remembered
				var b body
				for rest := test.text; len(rest) > 0; rest = rest[min(size, len(rest)):] {
					s.feed(&b, rest[:min(size, len(rest))], test.coding)
				}
				if got := s.isExpected(&b, test.coding); got != test.want {
					t.Errorf("%s, in pieces of %d: got %v, want %v", test.name, size, got, test.want)
				}
			}
		}
	}
}

func TestRememberedEncodingsAreLimited(t *testing.T) {
	s := &bodies{want: []byte(page), gzip: true}
	for i := range 3 * maxVariants {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Comment = fmt.Sprint(i)
		z.Write([]byte(page)) //nolint:errcheck // into memory
		z.Close()             //nolint:errcheck // into memory
		var got body
		s.feed(&got, b.Bytes(), response.Gzip)
		if !s.isExpected(&got, response.Gzip) {
			t.Errorf("encoding %d: got a wrong body, want the expected one", i)
		}
	}
	if len(s.variants) != maxVariants {
		t.Errorf("got %d remembered encodings, want %d", len(s.variants), maxVariants)
	}
}

// TestEncodedBodiesAreBounded: on many connections they would use up the memory, as would one that
// is short and long when it is decoded.
func TestEncodedBodiesAreBounded(t *testing.T) {
	s := &bodies{want: []byte(page), gzip: true}
	var b body
	for range 1000 {
		s.feed(&b, []byte(page), response.Gzip)
	}
	if limit := 2*len(page) + encodedExtra; len(b.encoded) > limit || s.isExpected(&b, response.Gzip) {
		t.Errorf("got %d bytes kept, want at most %d, and a wrong body", len(b.encoded), limit)
	}
	if text, err := gunzip(zipped(t, page, 9), len(page)); err != nil || string(text) != page {
		t.Errorf("as long as allowed: got %d bytes (%v), want the page", len(text), err)
	}
	if text, err := gunzip(zipped(t, strings.Repeat(page, 1000), 9), len(page)); err == nil || len(text) > len(page)+1 || !strings.Contains(err.Error(), "when it is decoded") {
		t.Errorf("longer: got %d bytes and error %v, want an error after %d bytes", len(text), err, len(page))
	}
}

// TestALongBodyIsNotSearched: its JSON would take many times its size.
func TestALongBodyIsNotSearched(t *testing.T) {
	long := bytes.Repeat([]byte("[0,"), MaxSearched)
	for _, check := range []Check{{Match: "x"}, {JSON: []string{"a=1"}}} {
		if err := (&Request{Check: check}).Judge(200, long); err == nil || !strings.Contains(err.Error(), "that are searched") {
			t.Errorf("%+v: got %v, want an error that the body is too long", check, err)
		}
	}
}
