package http1

import (
	"strings"
	"testing"
)

// TestResponsesAreFramed: the head that a server sends, by RFC 9112, sections 6 and 9.
func TestResponsesAreFramed(t *testing.T) {
	const fields, closing, keeping = "HTTP/1.1 200 OK\r\n", "Connection: close\r\n\r\n", "Connection: keep-alive\r\n\r\n"
	for _, c := range []struct {
		requirement string
		method      string
		minor       int
		options     Options
		status      int
		length      int64
		trailers    bool
		connection  string
		want        string
		framing     Framing
		close       bool
	}{
		{"a known length", "GET", 1, Options{}, 200, 5, false, "", fields + "Content-Length: 5\r\n\r\n", ByLength, false},
		{"no content has length 0 (RFC 9110, section 8.6)", "GET", 1, Options{}, 200, 0, false, "", fields + "Content-Length: 0\r\n\r\n", ByLength, false},
		{"an unknown length is chunked (6.1)", "GET", 1, Options{}, 200, -1, false, "", fields + "Transfer-Encoding: chunked\r\n\r\n", Chunked, false},
		{"trailers need chunks (RFC 9110, section 6.5)", "GET", 1, Options{}, 200, 5, true, "", fields + "Transfer-Encoding: chunked\r\n\r\n", Chunked, false},
		{"HTTP/1.0 has no chunks: the end of the connection ends the content (6.1)", "GET", 0, Options{KeepAlive: true}, 200, -1, false, "", fields + closing, UntilClose, true},
		{"HTTP/1.0 has no trailers", "GET", 0, Options{KeepAlive: true}, 200, 5, true, "", fields + "Content-Length: 5\r\n" + keeping, ByLength, false},
		{"HTTP/1.0 ends by default", "GET", 0, Options{Close: true}, 200, 5, false, "", fields + "Content-Length: 5\r\n" + closing, ByLength, true},
		{"the client ends the connection (9.6)", "GET", 1, Options{Close: true}, 200, 5, false, "", fields + "Content-Length: 5\r\n" + closing, ByLength, true},
		{"the server ends the connection (9.6)", "GET", 1, Options{}, 200, 5, false, "Close", fields + "Content-Length: 5\r\n" + closing, ByLength, true},
		{"HEAD has the length that GET would have, and no content (RFC 9110, section 9.3.2)", "HEAD", 1, Options{}, 200, 5, false, "", fields + "Content-Length: 5\r\n\r\n", NoContent, false},
		{"HEAD with an unknown length", "HEAD", 1, Options{}, 200, -1, false, "", fields + "\r\n", NoContent, false},
		{"204 has no length (RFC 9110, section 8.6)", "GET", 1, Options{}, 204, 0, false, "", "HTTP/1.1 204 No Content\r\n\r\n", NoContent, false},
		{"304 may have the length of the content that it leaves out", "GET", 1, Options{}, 304, 5, false, "", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", NoContent, false},
		{"a tunnel has no length (RFC 9110, section 9.3.6)", "CONNECT", 1, Options{}, 200, 5, false, "", fields + "\r\n", NoContent, false},
		{"a refused tunnel has content", "CONNECT", 1, Options{}, 403, 5, false, "", "HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\n", ByLength, false},
		{"101 keeps the server's Connection field", "GET", 1, Options{Upgrade: true}, 101, -1, false, "Upgrade", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n", NoContent, false},
		{"an unknown status has no reason phrase", "GET", 1, Options{}, 799, 0, false, "", "HTTP/1.1 799 \r\nContent-Length: 0\r\n\r\n", ByLength, false},
	} {
		x := NewExchange(Request{Method: []byte(c.method), Minor: c.minor}, c.options)
		var connection []string
		if c.connection != "" {
			connection = []string{c.connection}
		}
		got := string(x.AppendFraming(x.AppendFields(nil, c.status, nil, ""), c.status, c.length, c.trailers, connection))
		if got != c.want || x.Framing != c.framing || x.Close != c.close {
			t.Errorf("%s: got %q, framing %d, close %v, want %q, %d, %v", c.requirement, got, x.Framing, x.Close, c.want, c.framing, c.close)
		}
	}
}

func TestAFieldCannotEndItsLine(t *testing.T) {
	var x Exchange
	got := string(x.AppendFields(nil, 200, map[string][]string{"X": {"a\r\nSet-Cookie: b\x00\x7f\tc", "d"}}, ""))
	if want := "HTTP/1.1 200 OK\r\nX: a  Set-Cookie: b  \tc\r\nX: d\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, name := range []string{"", "A B", "A:", "A\r\nB", "Trailer:X"} {
		if got := string(x.AppendFields(nil, 200, map[string][]string{name: {"v"}}, "")); got != "HTTP/1.1 200 OK\r\n" {
			t.Errorf("the name %q: got %q, want it left out: it is no token", name, got)
		}
	}
}

// TestFramingFieldsAreLeftOutInAnyCase: "Field names are case-insensitive" (RFC 9110, section 5.1).
func TestFramingFieldsAreLeftOutInAnyCase(t *testing.T) {
	x := Exchange{minor: 1}
	for _, name := range []string{"Content-Length", "content-length", "TRANSFER-ENCODING", "connection"} {
		fields := map[string][]string{name: {"3"}}
		if got := string(x.AppendFields(nil, 200, fields, "")); got != "HTTP/1.1 200 OK\r\n" {
			t.Errorf("the field %q: got %q, want it left out", name, got)
		}
		if got := string(AppendLastChunk(nil, fields)); got != "0\r\n\r\n" {
			t.Errorf("the trailer %q: got %q, want it left out", name, got)
		}
		if got := string(AppendRequestField(nil, name, "3")); got != "" {
			t.Errorf("the field %q of a request: got %q, want it left out", name, got)
		}
	}
	if got := string(x.AppendInformational(nil, 103, map[string][]string{"content-length": {"3"}})); got != "HTTP/1.1 103 Early Hints\r\n\r\n" {
		t.Errorf("an informational response: got %q, want no length", got)
	}
}

func TestDateIsSetUnlessTheServerHasSetIt(t *testing.T) {
	var x Exchange
	if got := string(x.AppendFields(nil, 200, nil, "now")); got != "HTTP/1.1 200 OK\r\nDate: now\r\n" {
		t.Errorf("got %q, want the Date field", got)
	}
	if got := string(x.AppendFields(nil, 200, map[string][]string{"Date": {"then"}}, "now")); got != "HTTP/1.1 200 OK\r\nDate: then\r\n" {
		t.Errorf("got %q, want the server's Date field alone", got)
	}
}

func TestInformationalResponsesNeedHTTP11(t *testing.T) {
	fields := map[string][]string{"Link": {"</a>"}, "Content-Length": {"3"}}
	x := Exchange{minor: 1}
	if got := string(x.AppendInformational(nil, 103, fields)); got != "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" {
		t.Errorf("got %q, want a response without framing fields (RFC 9110, section 15.2)", got)
	}
	x.minor = 0
	if got := x.AppendInformational(nil, 103, fields); len(got) > 0 {
		t.Errorf("got %q for HTTP/1.0, want nothing (RFC 9110, section 15.2)", got)
	}
}

// TestChunksAreReadByTheScanner: what AppendChunk and AppendLastChunk write is valid chunked
// content.
func TestChunksAreReadByTheScanner(t *testing.T) {
	b := []byte("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
	for _, piece := range []string{"a", strings.Repeat("b", 300), strings.Repeat("c", 70000)} {
		b = append(append(AppendChunk(b, len(piece)), piece...), ChunkEnd...)
	}
	b = AppendLastChunk(b, map[string][]string{"Sum": {"1"}, "Content-Length": {"3"}})
	s := New(Limits{})
	if n, v := s.Scan(b); n != len(b) || v != nil || s.Requests() != 1 {
		t.Errorf("got %d of %d bytes, %v, %d messages, want one whole message", n, len(b), v, s.Requests())
	}
}
