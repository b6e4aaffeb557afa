package http1

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// served returns how many requests net/http's parser reads completely from a stream, bodies
// included, and the error that ended it. Like net/http's server, it skips line ends after a POST.
func served(in string) (requests uint64, err error) {
	r := bufio.NewReader(strings.NewReader(in))
	post := false
	for {
		if post {
			peeked, _ := r.Peek(4)
			r.Discard(len(peeked) - len(strings.TrimLeft(string(peeked), "\r\n")))
		}
		req, err := http.ReadRequest(r)
		if err != nil {
			return requests, err
		}
		for _, values := range req.Header {
			if strings.ContainsAny(strings.Join(values, ""), "\x00\r\n") {
				// the server checks values itself
				return requests, errors.New("a value with a control character")
			}
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return requests, err
		}
		post = req.Method == "POST"
		requests++
	}
}

// engineRefuses checks that net/http rejects what the scanner rejected. It must read as many
// complete requests as the scanner, and then a malformed one, while the stream stays open behind
// the refusal.
func engineRefuses(l Limits, in string) error {
	v, s := scan(l, in, 0, len(in)+1)
	got, err := served(in[:v.passed] + s.Refusal())
	switch {
	case got != v.requests && !isTarget(err):
		return fmt.Errorf("got %d requests that net/http reads before the refusal, want the %d of the scanner", got, v.requests)
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("net/http waits for more bytes after the refusal (%v), want an error at once", err)
	}
	return nil
}

// isTarget reports whether net/http rejected a target: the scanner does not judge URLs.
func isTarget(err error) bool {
	_, target := errors.AsType[*url.Error](err)
	return target
}

// sameFraming returns an error if net/http delimits differently a stream that the scanner accepted.
// For a stream that ends within a message, net/http may report an error.
func sameFraming(in string, v verdict, unfinished bool) error {
	got, err := served(in)
	switch {
	case isTarget(err), err != nil && strings.Contains(err.Error(), "non-data"):
		// net/http bounds all chunks together
		return nil
	case err != nil && strings.Contains(err.Error(), "invalid byte in chunk length"):
		// net/http rejects white space before an extension
		return nil
	case got != v.requests:
		return fmt.Errorf("got %d requests that net/http reads (%v), want the %d of the scanner", got, err, v.requests)
	case err != io.EOF && !unfinished:
		return fmt.Errorf("got %v of net/http, want it to accept what the scanner accepts", err)
	}
	return nil
}

// check checks a stream as described at FuzzScan.
func check(t interface{ Errorf(string, ...any) }, in string) {
	whole, s := scan(small, in, 0, len(in)+1)
	for _, cut := range []int{1, 2, 3, 7, len(in) / 2} {
		if other, _ := scan(small, in, cut, cut+1); other != whole {
			t.Errorf("%q cut into pieces of %d: got %v\nwant the verdict of the whole %v", in, cut+1, other, whole)
		}
	}
	var err error
	if whole.reason == nil {
		err = sameFraming(in, whole, !s.Between())
	} else {
		err = engineRefuses(small, in)
	}
	if err != nil {
		t.Errorf("%q: %v (the scanner's verdict: %v)", in, err, whole)
	}
}

// FuzzScan checks that the verdict does not depend on how the stream was cut, that net/http
// delimits accepted streams in the same way, and that net/http rejects other streams with the
// refusal in place.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc\r\nGET / HTTP/1.0\r\n\r\n",
		"PUT http://a/b HTTP/1.1\r\nHost: [::1]:80\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: u\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nabcde",
		"OPTIONS * HTTP/1.0\r\nUpgrade: h2c\r\nTransfer-Encoding : chunked\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a\n\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) { check(t, in) })
}

// TestVerdictDoesNotDependOnReadSizes draws streams made of critical pieces, which reaches deeper
// than random bytes.
func TestVerdictDoesNotDependOnReadSizes(t *testing.T) {
	pieces := []string{
		"GET / HTTP/1.1\r\nHost: a\r\n", "POST / HTTP/1.1\r\nHost: a\r\n", "POST / HTTP/1.0\r\n", "CONNECT a:1 HTTP/1.1\r\n", "Host: a\r\n",
		"Content-Length: 3\r\n", "Content-Length:3\r\n", "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\n\r\n", "Upgrade: x\r\n",
		"X: y\r\n", "X:", "\r\n", "\r\n", "\r\n\r\n", "\n", "\r", " ", "\t", "\x00", "abc", "3\r\nabc\r\n", "3;x=y\r\nabc\r\n", "0\r\n\r\n", "0\r\n", "3", ";x", ",", ":",
	}
	rapid.Check(t, func(r *rapid.T) {
		in := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 16).Draw(r, "pieces"), "")
		check(r, in)
	})
}
