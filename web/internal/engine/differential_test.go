package engine

import (
	"bufio"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"weir/web/http1"
)

// FuzzRequestMeansTheSameAsToNetHTTP: a head that the scanner accepts gives the same request as
// package net/http makes of it, or is rejected by both. A target with a user is rejected here
// alone.
func FuzzRequestMeansTheSameAsToNetHTTP(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /a/b?c=d&e HTTP/1.1\r\nHost: a:80\r\nAccept: x\r\nAccept: y\r\n\r\n",
		"GET /a%2fb?%zz HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /a? HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /a?b?c HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET //a//b HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /!'()*;:@&=+$, HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://b:1/c HTTP/1.1\r\nHost: a\r\n\r\n",
		"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
		"CONNECT /a HTTP/1.1\r\nHost: a\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: A, b\r\n\r\n",
		"POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nConnection: close, x\r\nPragma: no-cache\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\ncontent-type: \t x y \t\r\nX:\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nTrailer: A\r\n\r\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		head, ok := acceptedHead(in)
		if !ok {
			return
		}
		var ours parsedHead
		ourErr := ours.parse([]byte(head))
		theirs, theirErr := http.ReadRequest(bufio.NewReader(strings.NewReader(head)))
		switch {
		case ourErr == errUser:
		case ourErr != nil || theirErr != nil:
			if (ourErr == nil) != (theirErr == nil) {
				t.Errorf("%q: got error %v, net/http %v, want both or none", head, ourErr, theirErr)
			}
		default:
			if difference := compareRequests(&ours.template, theirs); difference != "" {
				t.Errorf("%q: %s", head, difference)
			}
		}
	})
}

// acceptedHead returns the first head of a stream, if the scanner accepts it.
func acceptedHead(in string) (string, bool) {
	s := http1.New(http1.Limits{})
	for at := 0; at < len(in); {
		n, _, v := s.Step([]byte(in[at:]))
		if at += n; v != nil {
			return "", false
		}
		if s.Requests() > 0 || s.InBody() {
			return in[:at], true
		}
	}
	return "", false
}

// compareRequests returns in what two requests differ.
func compareRequests(ours, theirs *http.Request) string {
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"method", ours.Method, theirs.Method}, {"target", ours.RequestURI, theirs.RequestURI}, {"URL", ours.URL, theirs.URL},
		{"protocol", ours.Proto, theirs.Proto}, {"minor version", ours.ProtoMinor, theirs.ProtoMinor}, {"host", ours.Host, theirs.Host},
		{"fields", ours.Header, theirs.Header}, {"length", ours.ContentLength, theirs.ContentLength}, {"close", ours.Close, theirs.Close},
		{"coding", ours.TransferEncoding, theirs.TransferEncoding}, {"trailers", ours.Trailer, theirs.Trailer},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			return fmt.Sprintf("the %s: got %+v, want %+v as net/http", c.name, c.got, c.want)
		}
	}
	return ""
}
