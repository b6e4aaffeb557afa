package contract

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// isStatus says so when the response has another status.
func (a answer) isStatus(status int) error {
	if a.StatusCode != status {
		return fmt.Errorf("expected status %d, saw %s", status, a.Status)
	}
	return nil
}

// headOnly: HEAD is answered like GET, without the body.
func headOnly(b *bench) error {
	v, err := b.visit()
	if err != nil {
		return err
	}
	for _, path := range b.paths() {
		a, err := v.ask("HEAD", path)
		if err == nil {
			err = a.headOf(path, b.www.files[path])
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

// notFound: what is not there is said to be not there, and the connection goes on.
func notFound(b *bench) error {
	v, err := b.visit()
	if err != nil {
		return err
	}
	a, err := v.ask("GET", "/there/is/no/such.html")
	if err == nil {
		err = a.isStatus(http.StatusNotFound)
	}
	if err != nil {
		return fmt.Errorf("what is not there: %w", err)
	}
	if err := b.get(v, pagePath); err != nil {
		return fmt.Errorf("after what is not there: %w", err)
	}
	return nil
}

// closing: the server closes the connection when the client says that it will ask no more.
func closing(b *bench) error {
	v, err := b.visit()
	if err != nil {
		return err
	}
	if err := b.get(v, pagePath); err != nil {
		return err
	}
	if err := b.get(v, pagePath, "Connection: close"); err != nil {
		return err
	}
	return v.over()
}

// oldVersion: a client of HTTP/1.0 names no host, and knows by the end of the connection that the
// body is over.
func oldVersion(b *bench) error {
	v, err := b.visit()
	if err != nil {
		return err
	}
	if err := v.say("GET " + pagePath + " HTTP/1.0\r\n\r\n"); err != nil {
		return err
	}
	a, err := v.hear("GET")
	if err != nil {
		return err
	}
	if err := a.isStatus(http.StatusOK); err != nil {
		return err
	}
	if err := same(a.body, b.www.files[pagePath]); err != nil {
		return err
	}
	return v.over()
}

// rubbish: what is no HTTP is refused and the connection closed, since nobody knows where the next
// request would begin; others are served as before.
func rubbish(b *bench) error {
	for _, text := range []string{
		"\x16\x03\x01\x00\x2e\x01\x00\x00\x2a\x03\x03 a TLS hello\r\n\r\n",
		"one two three four five\r\n\r\n",
		"GET " + pagePath + " HTTP/1.1\r\nHost: contract\r\nContent-Length: many\r\n\r\n",
	} {
		v, err := b.visit()
		if err != nil {
			return err
		}
		if err := v.say(text); err != nil {
			return err
		}
		if err := v.refused(); err != nil {
			return fmt.Errorf("%.30q: %w", text, err)
		}
		other, err := b.visit()
		if err == nil {
			err = b.get(other, pagePath)
		}
		if err != nil {
			return fmt.Errorf("after %.30q on another connection: %w", text, err)
		}
	}
	return nil
}

// refused reads what a server says to rubbish, up to the end of the connection.
func (v *visitor) refused() error {
	said, _ := v.in.Peek(len("HTTP/1.1 400"))
	_, status, _ := strings.Cut(string(said), " ")
	if len(said) > 0 && !strings.HasPrefix(status, "4") && !strings.HasPrefix(status, "5") {
		return fmt.Errorf("expected status 400 or none, saw %q", said)
	}
	if _, err := io.Copy(io.Discard, v.in); err != nil && plain(err) != errReset {
		return fmt.Errorf("expected the server to close the connection: %w", plain(err))
	}
	return nil
}

// unexpectedBody: a body that a server has no use for is read and dropped, or the connection is
// closed after the answer. It looks like a request, which must not be answered.
func unexpectedBody(b *bench) error {
	body := request("GET", "/there/is/no/such.html")
	for _, post := range []string{
		fmt.Sprintf("POST %s HTTP/1.1\r\nHost: contract\r\nContent-Length: %d\r\n\r\n%s", pagePath, len(body), body),
		fmt.Sprintf("POST %s HTTP/1.1\r\nHost: contract\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", pagePath, len(body), body),
	} {
		v, err := b.visit()
		if err != nil {
			return err
		}
		if err := v.say(post + request("GET", pagePath) + request("GET", pagePath, "Connection: close")); err != nil {
			return err
		}
		if _, err := v.hear("POST"); err != nil {
			return fmt.Errorf("POST: %w", err)
		}
		if err := b.twoPages(v); err != nil {
			return fmt.Errorf("after a POST with a body: %w", err)
		}
	}
	return nil
}

// twoPages reads two pages, the last on the connection; or nothing, of a connection that has ended.
func (b *bench) twoPages(v *visitor) error {
	for n := range 2 {
		err := b.page(v)
		if err != nil && n == 0 && closed(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return v.over()
}

// compressed: a client that takes gzip gets it, and another one the file as it is.
func compressed(b *bench) error {
	v, err := b.visit()
	if err != nil {
		return err
	}
	a, err := v.ask("GET", textPath, "Accept-Encoding: gzip")
	if err == nil {
		err = a.isZipped(b.www.files[textPath])
	}
	if err != nil {
		return fmt.Errorf("to a client that takes gzip: %w", err)
	}
	if err := b.get(v, textPath); err != nil {
		return fmt.Errorf("to a client that does not say that it takes gzip: %w", err)
	}
	return nil
}

// isZipped says what is wrong with a response that is to be this content, compressed.
func (a answer) isZipped(content []byte) error {
	if err := a.isStatus(http.StatusOK); err != nil {
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
	return same(plain, content)
}
