package cgi

import (
	"strings"
	"testing"
)

// An accepted header is valid to send, and no more than the limit is read of it.
func FuzzProgramHeader(f *testing.F) {
	for _, seed := range []string{
		"Content-Type: text/plain\n\nbody", "Status: 404 None\r\n\r\n", "Location: /a\n\n", "HTTP/1.1 200 OK\r\n\r\n", "Content-Type: a\n folded\n\n",
		"Content-Type: a\nContent-Length: 5\n\nabc", "Content-Length: -1\n\n", "\n", ": b\n\n", "A B: c\n\n", "Content-Type: a\nTransfer-Encoding: chunked\n\n", strings.Repeat("A: b\n", 100),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		source := strings.NewReader(text)
		in, limit := limitHeader(source, 256)
		h, err := readHeader(in, limit)
		if read := len(text) - source.Len(); err != nil && read > 256 {
			t.Errorf("got %d bytes read of an invalid header, want at most the limit", read)
		}
		if err != nil {
			return
		}
		if h.status < 200 || h.status > 599 || h.length < -1 {
			t.Errorf("got status %d, length %d, want a status from 200 to 599", h.status, h.length)
		}
		for name, values := range h.fields {
			if strings.ContainsAny(name, " :\r\n") || strings.ContainsAny(strings.Join(values, ""), "\r\n\x00") {
				t.Errorf("got the field %q: %q, want valid fields only", name, values)
			}
		}
		if h.fields.Get("Transfer-Encoding") != "" || h.fields.Get("Connection") != "" {
			t.Errorf("got %v, want no fields of the connection", h.fields)
		}
	})
}
