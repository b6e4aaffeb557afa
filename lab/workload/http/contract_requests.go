package http

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"weir/lab/contract"
)

const missingPath = "/there/is/no/such.html"

// headOnly checks that HEAD is answered as GET, without the body.
func headOnly(b *bench) {
	v := b.dial()
	for _, path := range b.paths() {
		a := v.do("HEAD", path)
		contract.During("HEAD "+path, func() { a.checkHeader(path, b.www.files[path]) })
		contract.During("after HEAD on the same connection", func() { v.get(path) })
	}
}

// notFound checks that a missing file is answered by 404, and that the connection stays open.
func notFound(b *bench) {
	v := b.dial()
	contract.During("a missing file", func() { v.do("GET", missingPath).checkStatus(http.StatusNotFound) })
	contract.During("after a missing file", func() { v.get(pagePath) })
}

// closing checks that the server closes the connection after a request with Connection: close.
func closing(b *bench) {
	v := b.dial()
	v.get(pagePath)
	v.get(pagePath, "Connection: close")
	v.expectClose()
}

// oldVersion checks a request of HTTP/1.0: it has no Host field, and the end of the connection is
// the end of the body.
func oldVersion(b *bench) {
	v, host := b.dial(), ""
	if b.upstream != nil {
		host = "Host: contract\r\n" // the upstream speaks HTTP/1.1, which requires one
	}
	v.write("GET " + pagePath + " HTTP/1.0\r\n" + host + "\r\n")
	a := v.read("GET")
	a.checkStatus(http.StatusOK)
	checkBody(a.body, b.www.files[pagePath])
	v.expectClose()
}

// malformed checks that input that is not HTTP is rejected and the connection closed, since the
// start of the next request is unknown. Other connections are served as before.
func malformed(b *bench) {
	for _, text := range []string{
		"\x16\x03\x01\x00\x2e\x01\x00\x00\x2a\x03\x03 a TLS hello\r\n\r\n",
		"one two three four five\r\n\r\n",
		"GET " + pagePath + " HTTP/1.1\r\nHost: contract\r\nContent-Length: many\r\n\r\n",
	} {
		v := b.dial()
		v.write(text)
		contract.During(fmt.Sprintf("%.30q", text), v.expectRejected)
		contract.During(fmt.Sprintf("after %.30q on another connection", text), func() { b.dial().get(pagePath) })
	}
}

// expectRejected reads the response to malformed input, up to the end of the connection.
func (v *conn) expectRejected() {
	said, _ := v.in.Peek(len("HTTP/1.1 400"))
	_, status, _ := strings.Cut(string(said), " ")
	contract.Expect(len(said) == 0 || strings.HasPrefix(status, "4") || strings.HasPrefix(status, "5"), "expected status 400 or none, saw %q", said)
	if _, err := io.Copy(io.Discard, v.in); err != nil && contract.DescribeError(err) != contract.ErrReset {
		contract.Failf("expected the server to close the connection: %w", contract.DescribeError(err))
	}
}

// unexpectedBody checks that a body that the server does not use is read and discarded, or that the
// connection is closed after the response. The body looks like a request, which must not be
// answered.
func unexpectedBody(b *bench) {
	body := request("GET", missingPath)
	for _, post := range []string{
		fmt.Sprintf("POST %s HTTP/1.1\r\nHost: contract\r\nContent-Length: %d\r\n\r\n%s", pagePath, len(body), body),
		fmt.Sprintf("POST %s HTTP/1.1\r\nHost: contract\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", pagePath, len(body), body),
	} {
		v := b.dial()
		v.write(post + request("GET", pagePath) + request("GET", pagePath, "Connection: close"))
		contract.During("POST", func() { v.read("POST") })
		contract.During("after a POST with a body", func() {
			err := contract.Try(func() { v.readFile(pagePath) })
			if errors.Is(err, contract.ErrEnded) || errors.Is(err, contract.ErrReset) {
				return
			}
			contract.Must(err)
			v.readFile(pagePath)
			v.expectClose()
		})
	}
}

// compressed checks that a client that accepts gzip receives it, and another client the plain file.
func compressed(b *bench) {
	v := b.dial()
	contract.During("to a client that accepts gzip", func() {
		v.do("GET", textPath, "Accept-Encoding: gzip").checkGzip(b.www.files[textPath])
	})
	contract.During("to a client without Accept-Encoding", func() { v.get(textPath) })
}

// checkGzip expects this content, compressed.
func (a response) checkGzip(content []byte) {
	a.checkStatus(http.StatusOK)
	how := a.Header.Get("Content-Encoding")
	contract.Expect(how == "gzip", "expected Content-Encoding gzip, saw %q", how)
	r, err := gzip.NewReader(bytes.NewReader(a.body))
	contract.Expect(err == nil, "expected a body that is compressed: %w", err)
	plain, err := io.ReadAll(r)
	contract.Expect(err == nil, "expected a body that can be decompressed: %w", err)
	checkBody(plain, content)
}
