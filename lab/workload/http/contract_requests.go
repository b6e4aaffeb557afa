package http

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"weir/lab/contract"
)

// checkStatus returns an error if the response has another status.
func (a response) checkStatus(status int) error {
	if a.StatusCode != status {
		return fmt.Errorf("expected status %d, saw %s", status, a.Status)
	}
	return nil
}

// headOnly checks that HEAD is answered as GET, without the body.
func headOnly(b *bench) error {
	v, err := b.dialHTTP()
	if err != nil {
		return err
	}
	for _, path := range b.paths() {
		a, err := v.do("HEAD", path)
		if err == nil {
			err = a.checkHeader(path, b.www.files[path])
		}
		if err != nil {
			return fmt.Errorf("HEAD %s: %w", path, err)
		}
		if err := b.get(v, path); err != nil {
			return fmt.Errorf("after HEAD on the same connection: %w", err)
		}
	}
	return nil
}

// notFound checks that a missing file is answered by 404, and that the connection stays open.
func notFound(b *bench) error {
	v, err := b.dialHTTP()
	if err != nil {
		return err
	}
	a, err := v.do("GET", "/there/is/no/such.html")
	if err == nil {
		err = a.checkStatus(http.StatusNotFound)
	}
	if err != nil {
		return fmt.Errorf("a missing file: %w", err)
	}
	if err := b.get(v, pagePath); err != nil {
		return fmt.Errorf("after a missing file: %w", err)
	}
	return nil
}

// closing checks that the server closes the connection after a request with Connection: close.
func closing(b *bench) error {
	v, err := b.dialHTTP()
	if err != nil {
		return err
	}
	if err := b.get(v, pagePath); err != nil {
		return err
	}
	if err := b.get(v, pagePath, "Connection: close"); err != nil {
		return err
	}
	return v.expectClose()
}

// oldVersion checks a request of HTTP/1.0: it has no Host field, and the end of the connection is
// the end of the body.
func oldVersion(b *bench) error {
	v, err := b.dialHTTP()
	if err != nil {
		return err
	}
	host := ""
	if b.upstream != nil {
		host = "Host: contract\r\n" // the upstream speaks HTTP/1.1, which requires one
	}
	if err := v.writeText("GET " + pagePath + " HTTP/1.0\r\n" + host + "\r\n"); err != nil {
		return err
	}
	a, err := v.readResponse("GET")
	if err != nil {
		return err
	}
	if err := a.checkStatus(http.StatusOK); err != nil {
		return err
	}
	if err := compareBody(a.body, b.www.files[pagePath]); err != nil {
		return err
	}
	return v.expectClose()
}

// malformed checks that input that is not HTTP is rejected and the connection closed, since the
// start of the next request is unknown. Other connections are served as before.
func malformed(b *bench) error {
	for _, text := range []string{
		"\x16\x03\x01\x00\x2e\x01\x00\x00\x2a\x03\x03 a TLS hello\r\n\r\n",
		"one two three four five\r\n\r\n",
		"GET " + pagePath + " HTTP/1.1\r\nHost: contract\r\nContent-Length: many\r\n\r\n",
	} {
		v, err := b.dialHTTP()
		if err != nil {
			return err
		}
		if err := v.writeText(text); err != nil {
			return err
		}
		if err := v.expectRejected(); err != nil {
			return fmt.Errorf("%.30q: %w", text, err)
		}
		other, err := b.dialHTTP()
		if err == nil {
			err = b.get(other, pagePath)
		}
		if err != nil {
			return fmt.Errorf("after %.30q on another connection: %w", text, err)
		}
	}
	return nil
}

// expectRejected reads the response to malformed input, up to the end of the connection.
func (v *httpConn) expectRejected() error {
	said, _ := v.in.Peek(len("HTTP/1.1 400"))
	_, status, _ := strings.Cut(string(said), " ")
	if len(said) > 0 && !strings.HasPrefix(status, "4") && !strings.HasPrefix(status, "5") {
		return fmt.Errorf("expected status 400 or none, saw %q", said)
	}
	if _, err := io.Copy(io.Discard, v.in); err != nil && contract.DescribeError(err) != contract.ErrReset {
		return fmt.Errorf("expected the server to close the connection: %w", contract.DescribeError(err))
	}
	return nil
}

// unexpectedBody checks that a body that the server does not use is read and discarded, or that the
// connection is closed after the response. The body looks like a request, which must not be
// answered.
func unexpectedBody(b *bench) error {
	body := request("GET", "/there/is/no/such.html")
	for _, post := range []string{
		fmt.Sprintf("POST %s HTTP/1.1\r\nHost: contract\r\nContent-Length: %d\r\n\r\n%s", pagePath, len(body), body),
		fmt.Sprintf("POST %s HTTP/1.1\r\nHost: contract\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", pagePath, len(body), body),
	} {
		v, err := b.dialHTTP()
		if err != nil {
			return err
		}
		if err := v.writeText(post + request("GET", pagePath) + request("GET", pagePath, "Connection: close")); err != nil {
			return err
		}
		if _, err := v.readResponse("POST"); err != nil {
			return fmt.Errorf("POST: %w", err)
		}
		if err := b.twoPages(v); err != nil {
			return fmt.Errorf("after a POST with a body: %w", err)
		}
	}
	return nil
}

// twoPages reads two pages, the last on the connection; or nothing, if the connection was closed.
func (b *bench) twoPages(v *httpConn) error {
	for n := range 2 {
		err := b.page(v)
		if err != nil && n == 0 && closed(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return v.expectClose()
}

// compressed checks that a client that accepts gzip receives it, and another client the plain file.
func compressed(b *bench) error {
	v, err := b.dialHTTP()
	if err != nil {
		return err
	}
	a, err := v.do("GET", textPath, "Accept-Encoding: gzip")
	if err == nil {
		err = a.checkGzip(b.www.files[textPath])
	}
	if err != nil {
		return fmt.Errorf("to a client that accepts gzip: %w", err)
	}
	if err := b.get(v, textPath); err != nil {
		return fmt.Errorf("to a client without Accept-Encoding: %w", err)
	}
	return nil
}

// checkGzip returns an error if the response is not this content, compressed.
func (a response) checkGzip(content []byte) error {
	if err := a.checkStatus(http.StatusOK); err != nil {
		return err
	}
	if how := a.Header.Get("Content-Encoding"); how != "gzip" {
		return fmt.Errorf("expected Content-Encoding gzip, saw %q", how)
	}
	r, err := gzip.NewReader(bytes.NewReader(a.body))
	if err != nil {
		return fmt.Errorf("expected a body that is compressed: %w", err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("expected a body that can be decompressed: %w", err)
	}
	return compareBody(plain, content)
}
