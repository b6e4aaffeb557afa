package server

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// faulty are requests that programs read differently, each with the status of the answer.
var faulty = []struct{ name, text, status string }{
	{"both lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX", "400"},
	{"two lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nXX", "400"},
	{"the same length twice", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nX", "400"},
	{"a list of lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\nX", "400"},
	{"a length with a sign", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nX", "400"},
	{"an obs-fold", "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", "400"},
	{"a folded coding", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", "400"},
	{"a bare LF behind the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", "400"},
	{"bare LFs", "GET / HTTP/1.1\nHost: a\n\n", "400"},
	{"a bare CR", "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", "400"},
	{"a space before the colon", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "400"},
	{"a space before the first field", "GET / HTTP/1.1\r\n Host: a\r\nHost: b\r\n\r\n", "400"},
	{"a coding that is not chunked", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "400"},
	{"chunked twice", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
	{"a vertical tab before chunked", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", "400"},
	{"chunked in HTTP/1.0", "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
	{"two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"},
	{"no Host", "GET / HTTP/1.1\r\n\r\n", "400"},
	{"a NUL in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n", "400"},
	{"HTTP/0.9", "GET /\r\n", "400"},
	{"an unknown version", "GET / HTTP/3.0\r\nHost: a\r\n\r\n", "505"},
	{"a target that is too long", "GET /" + strings.Repeat("a", 70_000) + " HTTP/1.1\r\nHost: a\r\n\r\n", "414"},
	{"a head that is too large", "GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("a", 70_000) + "\r\n\r\n", "431"},
	{"too many fields", "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: a\r\n", 100) + "\r\n", "431"},
	{"another protocol", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400"},
}

// chunkFaults are malformed chunked bodies: the handler gets an error when it reads the body.
var chunkFaults = []struct{ name, body string }{
	{"a prefix", "0x1\r\na\r\n0\r\n\r\n"},
	{"a sign", "+1\r\na\r\n0\r\n\r\n"},
	{"spaces", "1 \r\na\r\n0\r\n\r\n"},
	{"a size beyond 64 bits", "10000000000000001\r\na\r\n0\r\n\r\n"},
	{"a bare LF behind the size", "1\na\r\n0\r\n\r\n"},
	{"a bare LF in an extension", "1;a\nb\r\na\r\n0\r\n\r\n"},
	{"no CRLF behind the data", "1\r\na0\r\n\r\n"},
	{"an LF alone behind the data", "1\r\na\n0\r\n\r\n"},
	{"an extension that is too long", "1;" + strings.Repeat("a", 300) + "\r\na\r\n0\r\n\r\n"},
	{"a NUL in the last extension", "0;\x00\r\n\r\n"},
	{"a length as a trailer", "0\r\nContent-Length: 5\r\n\r\n"},
	{"a bare LF in the trailers", "0\r\nX: a\n\r\n"},
}

// smuggled is a request hidden behind a malformed one: no handler may see it.
const smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

// seeing reads bodies, and fails the test if it sees the smuggled request.
func seeing(t *testing.T, bodies *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/smuggled" {
			t.Error("the handler received the smuggled request, want it to receive none")
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			http.Error(w, "bad body", 400)
			return
		}
		if r.Method == "POST" {
			bodies.Add(1)
		}
		io.WriteString(w, "good")
	})
}

// behind sends a valid request followed by text, in one write or apart. It returns the response
// that follows the one to the valid request.
func behind(t *testing.T, addr, text string, apart bool) (status, body string) {
	t.Helper()
	c := dial(t, addr)
	r := bufio.NewReader(c)
	if !apart {
		io.WriteString(c, get+text+smuggled)
	} else {
		io.WriteString(c, get)
	}
	if _, body := answer(t, r); body != "good" {
		t.Errorf("the valid request before the malformed one: got %q, want %q", body, "good")
	}
	if apart {
		io.WriteString(c, text+smuggled)
	}
	resp, body := answer(t, r)
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after the rejection: got more bytes or %v, want EOF", err)
	}
	return resp.Status, body
}

func TestMalformedHeadsAreRejected(t *testing.T) {
	s := start(t, Config{}, seeing(t, new(atomic.Int64)))
	for _, f := range faulty {
		t.Run(f.name, func(t *testing.T) {
			for _, apart := range []bool{false, true} {
				status, body := behind(t, s.addr, f.text, apart)
				if !strings.HasPrefix(status, f.status) || !strings.HasPrefix(body, "Refused: ") {
					t.Errorf("got %s with %q, want %s and the reason", status, body, f.status)
				}
			}
		})
	}
}

func TestMalformedChunksAreRejected(t *testing.T) {
	var bodies atomic.Int64
	s := start(t, Config{}, seeing(t, &bodies))
	for _, f := range chunkFaults {
		t.Run(f.name, func(t *testing.T) {
			for _, apart := range []bool{false, true} {
				text := "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + f.body
				if status, _ := behind(t, s.addr, text, apart); !strings.HasPrefix(status, "400") {
					t.Errorf("got %s, want 400", status)
				}
			}
		})
	}
	if n := bodies.Load(); n != 0 {
		t.Errorf("%d malformed bodies were read as complete, want 0", n)
	}
}

func TestEarlierPipelinedRequestIsAnsweredBeforeAViolation(t *testing.T) {
	// no values, closed by the handler, by the test
	entered, leave := make(chan struct{}), make(chan struct{})
	s := start(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-leave
		if err := r.Context().Err(); err != nil {
			t.Errorf("context of the request before the malformed one: got %v, want it alive", err)
		}
		io.WriteString(w, "good")
	}))
	c := dial(t, s.addr)
	r := bufio.NewReader(c)
	io.WriteString(c, get)
	<-entered
	io.WriteString(c, "GET / HTTP/1.1\nrubbish")
	close(leave)
	if _, body := answer(t, r); body != "good" {
		t.Errorf("the request before the malformed one: got %q, want %q", body, "good")
	}
	if resp, body := answer(t, r); resp.StatusCode != 400 || !strings.Contains(body, "LF alone") {
		t.Errorf("then got %s with %q, want 400 and the reason", resp.Status, body)
	}
}
