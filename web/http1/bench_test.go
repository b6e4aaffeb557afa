package http1

import (
	"strings"
	"testing"
)

// heads are requests as clients send them.
var heads = []struct{ name, text string }{
	{"bare", "GET /page.html HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"},
	{"curl", "GET /page.html HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n\r\n"},
	{"browser", "GET /images/weir.png?size=large HTTP/1.1\r\nHost: www.example.org\r\nConnection: keep-alive\r\n" +
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n" +
		"Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nReferer: https://www.example.org/a/b\r\n" +
		"Sec-Fetch-Dest: image\r\nSec-Fetch-Mode: no-cors\r\n\r\n"},
}

func BenchmarkScan(b *testing.B) {
	for _, h := range heads {
		b.Run(h.name, func(b *testing.B) {
			in := []byte(h.text)
			s := New(Limits{})
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if _, v := s.Scan(in); v != nil {
					b.Fatal(v)
				}
			}
		})
	}
}

func BenchmarkScanBody(b *testing.B) {
	in := []byte("4000\r\n" + strings.Repeat("a", 0x4000) + "\r\n")
	s := New(Limits{})
	s.Scan([]byte("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"))
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if _, v := s.Scan(in); v != nil {
			b.Fatal(v)
		}
	}
}

func TestScanAllocatesNothing(t *testing.T) {
	in := []byte(heads[2].text)
	s := New(Limits{})
	if n := testing.AllocsPerRun(100, func() { s.Scan(in) }); n != 0 {
		t.Errorf("got %v allocations a head, want none", n)
	}
}
