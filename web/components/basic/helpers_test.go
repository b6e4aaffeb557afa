package basic_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/web"
)

// must returns the component, and panics on an error.
func must(c web.Component, err error) web.Component {
	if err != nil {
		panic(err)
	}
	return c
}

// ask prints the response of a composition to "GET /path", with these header fields.
func ask(c web.Component, request string, fields ...string) {
	h, err := web.New(c, web.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	method, target, _ := strings.Cut(request, " ")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	fmt.Println(w.Code, http.StatusText(w.Code))
	for _, name := range fields {
		fmt.Printf("%s: %s\n", name, w.Header().Get(name))
	}
	fmt.Println(strings.TrimSpace(w.Body.String()))
}

// file writes a temporary file and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	write(t, path, text)
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wantError checks for an error of one sentence that contains part.
func wantError(t *testing.T, c web.Component, err error, part string) {
	t.Helper()
	if err == nil || c != nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
		t.Errorf("component %v, error %v, want no component, and an error with %q", c, err, part)
	}
}

// page is a source of a body with a media type.
func page(mediaType, body string) web.Component {
	return web.Named("page", web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Content-Type", mediaType)
		return web.String(body)
	}))
}

// echo is a source whose body is what see returns for the request.
func echo(see func(c *web.Conn) string) web.Component {
	return web.Named("echo", web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Content-Type", "text/plain")
		return web.String(see(c))
	}))
}

// through returns a function that sends a body, written in parts, through a filter.
func through(t testing.TB, mediaType string, filter web.Component) func(parts [][]byte) string {
	t.Helper()
	var body [][]byte
	source := web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Content-Type", mediaType)
		return web.Stream(-1, func(w io.Writer) error {
			for _, p := range body {
				if _, err := w.Write(p); err != nil {
					return err
				}
			}
			return nil
		})
	})
	h, err := web.New(web.Chain(source, filter), web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return func(parts [][]byte) string {
		body = parts
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		return w.Body.String()
	}
}

// cut splits text into pieces of n bytes.
func cut(text []byte, n int) [][]byte { return slices.Collect(slices.Chunk(text, n)) }
