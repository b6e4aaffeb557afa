package response

import (
	"strings"
	"testing"
)

// read feeds text in pieces of at most size bytes, then ends the input if closed. It returns the
// body, the bytes that were not consumed and the error.
func read(p *Parser, text string, size int, closed bool) (body, rest string, err error) {
	var got strings.Builder
	for len(text) > 0 && !p.Done() {
		piece := []byte(text[:min(size, len(text))])
		n, part, err := p.Feed(piece)
		got.Write(part)
		if err != nil {
			return got.String(), text[n:], err
		}
		text = text[n:]
	}
	if closed {
		err = p.End()
	}
	return got.String(), text, err
}

const ok = "HTTP/1.1 200 OK\r\n"

// wrongs are invalid responses with their errors.
var wrongs = []struct {
	name, text string
	want       error
}{
	{"garbage", "SSH-2.0-OpenSSH\r\n", ErrVersion},
	{"garbage without an end of line", "220 ready", ErrVersion},
	{"HTTP/2", "HTTP/2 200 \r\n\r\n", ErrVersion},
	{"HTTP/1.2", "HTTP/1.2 200 OK\r\n\r\n", ErrVersion},
	{"lower case", "http/1.1 200 OK\r\n\r\n", ErrVersion},
	{"blank line first", "\r\n" + ok + "\r\n", ErrVersion},
	{"no reason and no blank", "HTTP/1.1 200\r\n\r\n", ErrStatusLine},
	{"four digits", "HTTP/1.1 2000 OK\r\n\r\n", ErrStatusLine},
	{"two digits", "HTTP/1.1 20 OK\r\n\r\n", ErrStatusLine},
	{"letters", "HTTP/1.1 2x0 OK\r\n\r\n", ErrStatusLine},
	{"status 99", "HTTP/1.1 099 OK\r\n\r\n", ErrStatusLine},
	{"two blanks", "HTTP/1.1  200 OK\r\n\r\n", ErrStatusLine},
	{"control character in the reason", "HTTP/1.1 200 O\x01K\r\n\r\n", ErrStatusLine},
	{"bare LF after the status", "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n", ErrLine},
	{"bare LF after a field", ok + "Content-Length: 0\n\r\n", ErrLine},
	{"bare LF as the end", ok + "Content-Length: 0\r\n\n", ErrLine},
	{"CR within", ok + "A: b\rc\r\n\r\n", ErrLine},
	{"no colon", ok + "Content-Length\r\n\r\n", ErrField},
	{"no name", ok + ": 1\r\n\r\n", ErrField},
	{"blank before the colon", ok + "Content-Length : 1\r\n\r\n", ErrField},
	{"folded line", ok + "A: b\r\n c\r\n\r\n", ErrField},
	{"NUL in a value", ok + "A: \x00\r\n\r\n", ErrField},
	{"no length", ok + "Content-Length:\r\n\r\n", ErrLength},
	{"negative length", ok + "Content-Length: -1\r\n\r\n", ErrLength},
	{"signed length", ok + "Content-Length: +1\r\n\r\n", ErrLength},
	{"list of lengths", ok + "Content-Length: 1, 1\r\n\r\n", ErrLength},
	{"two lengths", ok + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", ErrLength},
	{"length of 19 digits", ok + "Content-Length: 1000000000000000000\r\n\r\n", ErrLength},
	{"gzip as transfer coding", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n", ErrCoding},
	{"chunked twice", ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", ErrCoding},
	{"chunked and length", ok + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", ErrFraming},
	{"chunked in 1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", ErrFraming},
	{"length with 204", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", ErrForbidden},
	{"chunked with 204", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", ErrForbidden},
	{"length with 100", "HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n", ErrForbidden},
	{"101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", ErrSwitch},
	{"1xx without end", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", MaxInterim+1), ErrInterim},
	{"head without end", ok + strings.Repeat("A: b\r\n", MaxHead/6+1), ErrTooLong},
	{"line without end", ok + strings.Repeat("a", MaxHead+1), ErrTooLong},
	{"empty chunk line", chunked + "\r\n", ErrChunk},
	{"chunk of letters", chunked + "xyz\r\n", ErrChunk},
	{"negative chunk", chunked + "-1\r\n", ErrChunk},
	{"chunk in 0x", chunked + "0x1\r\n", ErrChunk},
	{"huge chunk", chunked + "8000000000000000\r\n", ErrChunk},
	{"chunk without a semicolon", chunked + "1 a\r\n", ErrChunk},
	{"blank behind a chunk's size", chunked + "1 \r\n", ErrChunk},
	{"blank before an extension", chunked + "1 ;a\r\n", ErrChunk},
	{"chunk longer than its size", chunked + "1\r\nab\r\n0\r\n\r\n", ErrChunk},
	{"chunk line without end", chunked + "1;" + strings.Repeat("a", MaxChunkLine), ErrTooLong},
	{"bare LF after a chunk's size", chunked + "1\na\r\n0\r\n\r\n", ErrLine},
	{"malformed trailer", chunked + "0\r\nnonsense\r\n\r\n", ErrField},
	{"trailers without end", chunked + "0\r\n" + strings.Repeat("A: b\r\n", MaxHead/6+1), ErrTooLong},
	{"nothing", "", ErrEmpty},
	{"half a status line", "HTTP/1.", ErrTruncated},
	{"head without its end", ok + "A: b\r\n", ErrTruncated},
	{"interim alone", "HTTP/1.1 100 Continue\r\n\r\n", ErrTruncated},
	{"short body", ok + "Content-Length: 5\r\n\r\nabcd", ErrTruncated},
	{"short chunk", chunked + "5\r\nabcd", ErrTruncated},
	{"no last chunk", chunked + "1\r\na\r\n", ErrTruncated},
	{"no end of trailers", chunked + "0\r\n", ErrTruncated},
}

const chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"

func TestInvalidResponsesAreErrors(t *testing.T) {
	for _, test := range wrongs {
		for _, size := range []int{1, 7, len(test.text) + 1} {
			var p Parser
			p.Begin(false)
			if _, _, err := read(&p, test.text, size, true); err != test.want {
				t.Errorf("%s, in pieces of %d: got %v, want %v", test.name, size, err, test.want)
			}
			if _, _, err := p.Feed([]byte("more")); err != test.want || p.End() != test.want || p.Done() {
				t.Errorf("%s: got %v after more input, want the error to be final", test.name, err)
			}
		}
	}
}

// rights are valid responses, complete only with the end of the connection if closed is set.
var rights = []struct {
	name, text   string
	head, closed bool
	want         Head
	body, rest   string
}{
	{name: "length", text: ok + "Content-Length: 5\r\n\r\nhello", want: Head{Status: 200, Minor: 1, Length: 5}, body: "hello"},
	{name: "bytes behind it", text: ok + "content-length:5\r\n\r\nhelloHTTP", want: Head{Status: 200, Minor: 1, Length: 5}, body: "hello", rest: "HTTP"},
	{name: "empty", text: ok + "Content-Length: 0\r\n\r\n", want: Head{Status: 200, Minor: 1}},
	{name: "no reason", text: "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", want: Head{Status: 200, Minor: 1}},
	{name: "blanks around values", text: ok + "CONTENT-LENGTH: \t 0 \t\r\nEmpty:\r\n\r\n", want: Head{Status: 200, Minor: 1}},
	{name: "close", text: ok + "Connection: close\r\nContent-Length: 1\r\n\r\na", want: Head{Status: 200, Minor: 1, Length: 1, Close: true}, body: "a"},
	{name: "close in a list", text: ok + "Connection: x, , CLOSE\r\nContent-Length: 0\r\n\r\n", want: Head{Status: 200, Minor: 1, Close: true}},
	{name: "1.0", text: "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", want: Head{Status: 200, Close: true}},
	{name: "1.0 keep-alive", text: "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n", want: Head{Status: 200}},
	{name: "close beside keep-alive", text: "HTTP/1.0 200 OK\r\nConnection: keep-alive, close\r\nContent-Length: 0\r\n\r\n", want: Head{Status: 200, Close: true}},
	{name: "until close", text: ok + "\r\nall of this", closed: true, want: Head{Status: 200, Minor: 1, Length: -1, Close: true}, body: "all of this"},
	{name: "until close, empty", text: ok + "\r\n", closed: true, want: Head{Status: 200, Minor: 1, Length: -1, Close: true}},
	{name: "HEAD with a length", head: true, text: ok + "Content-Length: 5\r\n\r\n", want: Head{Status: 200, Minor: 1, Length: 5}},
	{name: "HEAD without", head: true, text: ok + "\r\n", want: Head{Status: 200, Minor: 1, Length: -1}},
	{name: "HEAD with chunks", head: true, text: chunked, want: Head{Status: 200, Minor: 1, Length: -1, Chunked: true}},
	{name: "204", text: "HTTP/1.1 204 No Content\r\n\r\n", want: Head{Status: 204, Minor: 1, Length: -1}},
	{name: "304 with a length", text: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", want: Head{Status: 304, Minor: 1, Length: 5}},
	{name: "after 100 and 103", text: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nConnection: close\r\nLink: a\r\n\r\n" + ok + "Content-Length: 1\r\n\r\na", want: Head{Status: 200, Minor: 1, Length: 1}, body: "a"},
	{name: "chunks", text: chunked + "5\r\nhello\r\n06;a=b\r\n world\r\n000\r\n\r\nrest", want: Head{Status: 200, Minor: 1, Length: -1, Chunked: true}, body: "hello world", rest: "rest"},
	{name: "chunks with trailers", text: chunked + "A\r\n0123456789\r\n0;x\r\nExpires: now\r\nA:\r\n\r\n", want: Head{Status: 200, Minor: 1, Length: -1, Chunked: true}, body: "0123456789"},
	{name: "no chunk", text: chunked + "0\r\n\r\n", want: Head{Status: 200, Minor: 1, Length: -1, Chunked: true}},
	{name: "gzip", text: ok + "Content-Encoding: GZIP\r\nContent-Length: 1\r\n\r\na", want: Head{Status: 200, Minor: 1, Length: 1, Coding: Gzip}, body: "a"},
	{name: "identity", text: ok + "Content-Encoding: identity\r\nContent-Length: 0\r\n\r\n", want: Head{Status: 200, Minor: 1}},
	{name: "two codings", text: ok + "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", want: Head{Status: 200, Minor: 1, Coding: OtherCoding}},
	{name: "404", text: "HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\nx", want: Head{Status: 404, Minor: 1, Length: 1}, body: "x"},
}

func TestWhatServersMaySend(t *testing.T) {
	for _, test := range rights {
		for _, size := range []int{1, 2, 3, len(test.text)} {
			var p Parser
			p.Begin(test.head)
			body, rest, err := read(&p, test.text, size, test.closed)
			if err != nil || !p.Done() || body != test.body || rest != test.rest || p.Head != test.want {
				t.Errorf("%s, in pieces of %d: got %v, done %v, %+v, body %q, rest %q; want %+v, %q, %q", test.name, size, err, p.Done(), p.Head, body, rest, test.want, test.body, test.rest)
			}
			if p.End() != nil {
				t.Errorf("%s: got %v at the end of the connection, want no error", test.name, p.End())
			}
		}
	}
}

func TestOneResponseAfterAnother(t *testing.T) {
	var p Parser
	text := ""
	for _, test := range rights {
		if !test.closed {
			text += strings.TrimSuffix(test.text, test.rest)
		}
	}
	for _, test := range rights {
		if test.closed {
			continue
		}
		p.Begin(test.head)
		if p.Started() {
			t.Errorf("%s: got Started before the first byte, want false", test.name)
		}
		body, rest, err := read(&p, text, 11, false)
		if err != nil || body != test.body || p.Head != test.want || !p.Started() {
			t.Fatalf("%s: got %v, %+v with %q; want %+v with %q", test.name, err, p.Head, body, test.want, test.body)
		}
		text = rest
	}
	if text != "" {
		t.Errorf("got %q left over, want nothing", text)
	}
}

// TestAKnownHeadChangesNothing checks every pair of responses: the second is read the same whether
// or not the first made its head known, in whatever pieces it arrives.
func TestAKnownHeadChangesNothing(t *testing.T) {
	texts := []string{}
	for _, test := range wrongs {
		if len(test.text) < MaxChunkLine { // the long ones take long
			texts = append(texts, test.text)
		}
	}
	for _, test := range rights {
		texts = append(texts, test.text, test.text[:len(test.text)/2])
	}
	for _, first := range texts {
		for _, second := range append(texts, first+"more") {
			for _, size := range []int{1, 60, len(second) + 1} {
				var k Known
				var p, alone Parser
				p.Share(&k)
				p.Begin(false)
				read(&p, first, len(first)+1, true) //nolint:errcheck // it makes the head known, or does not
				p.Begin(false)
				body, rest, err := read(&p, second, size, true)
				alone.Begin(false)
				wantBody, wantRest, wantErr := read(&alone, second, size, true)
				if body != wantBody || rest != wantRest || err != wantErr || p.Head != alone.Head || p.HeadDone() != alone.HeadDone() {
					t.Fatalf("%.200q in pieces of %d after %.200q: got %q, rest %q, %v, %+v; want %q, %q, %v, %+v", second, size, first, body, rest, err, p.Head, wantBody, wantRest, wantErr, alone.Head)
				}
			}
		}
	}
}

func TestAHeadIsKnownAfterOneResponse(t *testing.T) {
	var k Known
	var p, other Parser
	p.Share(&k)
	other.Share(&k)
	head := ok + "Content-Length: 5\r\n\r\n"
	p.Begin(false)
	read(&p, head+"hello", 100, false) //nolint:errcheck // it is valid
	other.Begin(false)
	if !other.canKnow() || other.skipKnown([]byte(head)) != len(head) || other.Length != 5 {
		t.Errorf("after %q: got %q known, want this head", head, k.text)
	}
	other.Begin(true)
	if other.canKnow() {
		t.Error("got a known head for the response to HEAD, want none: its body differs")
	}
}

func TestParserDoesNotAllocate(t *testing.T) {
	var p Parser
	text := []byte(chunked + "5\r\nhello\r\n0\r\n\r\n")
	if n := testing.AllocsPerRun(100, func() {
		p.Begin(false)
		for rest := text; !p.Done(); {
			n, _, err := p.Feed(rest[:min(9, len(rest))])
			if err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
	}); n != 0 {
		t.Errorf("got %v allocations per response, want none", n)
	}
}

// BenchmarkResponse reads a response of nginx, with a head that is parsed and with a known one.
func BenchmarkResponse(b *testing.B) {
	text := []byte(ok + "Server: nginx/1.22.1\r\nDate: Sat, 21 Nov 2026 08:00:00 GMT\r\nContent-Type: text/html\r\nContent-Length: 4096\r\n" +
		"Last-Modified: Sat, 21 Nov 2026 07:00:00 GMT\r\nConnection: keep-alive\r\nETag: \"6740a1b2-1000\"\r\nAccept-Ranges: bytes\r\n\r\n" + strings.Repeat("x", 4096))
	for name, known := range map[string]*Known{"parsed": nil, "known": {}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var p Parser
			p.Share(known)
			for b.Loop() {
				p.Begin(false)
				for rest := text; !p.Done(); {
					n, _, err := p.Feed(rest)
					if err != nil {
						b.Fatal(err)
					}
					rest = rest[n:]
				}
			}
		})
	}
}
