package contract

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// visitor is one HTTP connection, on which requests are written as bytes: well-formed clients can't
// ask badly.
type visitor struct {
	*client
	in *bufio.Reader
}

// answer is one response, its body whole and decoded from chunks.
type answer struct {
	*http.Response
	body []byte
}

// visit connects.
func (b *bench) visit() (*visitor, error) {
	c, err := b.dial(0)
	if err != nil {
		return nil, err
	}
	return &visitor{c, bufio.NewReader(c)}, nil
}

// visitAll connects n times; the check's end closes them.
func (b *bench) visitAll(n int) (all []*visitor, err error) {
	for range n {
		v, err := b.visit()
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// request is the text of a request of HTTP/1.1 without a body.
func request(method, path string, fields ...string) string {
	lines := append([]string{method + " " + path + " HTTP/1.1", "Host: contract"}, fields...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}

// say writes bytes as they are.
func (v *visitor) say(text string) error {
	if _, err := v.Write([]byte(text)); err != nil {
		return fmt.Errorf("expected the server to take %.40q: %w", text, plain(err))
	}
	return nil
}

// hear reads the response to a request with the method.
func (v *visitor) hear(method string) (answer, error) {
	r, err := http.ReadResponse(v.in, &http.Request{Method: method})
	if err != nil {
		return answer{}, fmt.Errorf("expected a response: %w", plain(err))
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return answer{}, fmt.Errorf("expected a body of %d bytes, saw %d: %w", r.ContentLength, len(body), plain(err))
	}
	return answer{r, body}, nil
}

// ask sends a request and reads its response.
func (v *visitor) ask(method, path string, fields ...string) (answer, error) {
	if err := v.say(request(method, path, fields...)); err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	a, err := v.hear(method)
	if err != nil {
		return a, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return a, nil
}

// get asks for a file and sees that exactly this comes back.
func (v *visitor) get(path string, content []byte, fields ...string) error {
	a, err := v.ask("GET", path, fields...)
	if err == nil {
		err = a.isFile(path, content)
	}
	if err != nil && !strings.HasPrefix(err.Error(), "GET ") {
		err = fmt.Errorf("GET %s: %w", path, err)
	}
	return err
}

// isFile says what is wrong with the response to a GET of a file with this content.
func (a answer) isFile(path string, content []byte) error {
	if err := a.headOf(path, content); err != nil {
		return err
	}
	return same(a.body, content)
}

// headOf says what is wrong with the head of the response to a GET or HEAD of a file.
func (a answer) headOf(path string, content []byte) error {
	kind := a.Header.Get("Content-Type")
	switch {
	case a.StatusCode != http.StatusOK:
		return fmt.Errorf("expected status 200, saw %s", a.Status)
	case !strings.HasPrefix(kind, "text/html") && !strings.HasSuffix(path, ".bin"):
		return fmt.Errorf("expected Content-Type text/html, saw %q", kind)
	case a.Header.Get("Content-Length") != fmt.Sprint(len(content)):
		return fmt.Errorf("expected Content-Length %d, saw %q", len(content), a.Header.Get("Content-Length"))
	}
	return nil
}

// same says where a body differs from what it should be.
func same(got, want []byte) error {
	if bytes.Equal(got, want) {
		return nil
	}
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	return fmt.Errorf("expected the %d bytes of the file, saw %d, other ones from byte %d", len(want), len(got), i)
}

// over sees that the server closes the connection, and sends nothing more before.
func (v *visitor) over() error {
	rest, err := io.ReadAll(v.in)
	switch {
	case err != nil:
		return fmt.Errorf("expected the server to close the connection: %w", plain(err))
	case len(rest) > 0:
		return fmt.Errorf("expected nothing more, saw %.60q", rest)
	}
	return nil
}

// closed says whether an error of hear means that the connection ended in place of a response.
func closed(err error) bool {
	return errors.Is(err, errEnded) || errors.Is(err, errReset)
}
