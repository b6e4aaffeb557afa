package basic_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/web"
	"weir/web/components/basic"
	"weir/web/internal/webtest"
)

func ExampleRot13() {
	ask(web.Chain(basic.Text("Hello, World!"), basic.Rot13()), "GET /")
	// Output:
	// 200 OK
	// Uryyb, Jbeyq!
}

func ExampleRot13Piped() {
	ask(web.Chain(basic.Text("Hello, World!"), basic.Rot13Piped()), "GET /")
	// Output:
	// 200 OK
	// Uryyb, Jbeyq!
}

func TestRot13TwiceIsTheIdentity(t *testing.T) {
	text := strings.Repeat("Aa Mm Nn Zz @[`{ äß 日本 0\x00\xff\n", 5000)
	for name, c := range map[string]web.Component{
		"writers": web.Chain(page("text/plain", text), basic.Rot13(), basic.Rot13()),
		"piped":   web.Chain(page("text/plain", text), basic.Rot13Piped(), basic.Rot13Piped()),
		"both":    web.Chain(page("text/plain", text), basic.Rot13(), basic.Rot13Piped()),
	} {
		t.Run(name, func(t *testing.T) {
			webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
				if _, body := webtest.Get(t, url); body != text {
					t.Errorf("got %d bytes, want the %d bytes of the input", len(body), len(text))
				}
			})
		})
	}
}

// A source may send the same body again.
func TestRot13DoesNotChangeItsInput(t *testing.T) {
	webtest.ServeBothWays(t, web.Chain(basic.Text("text"), basic.Rot13()), func(t *testing.T, url string) {
		for range 2 {
			if _, body := webtest.Get(t, url); body != "grkg" {
				t.Errorf("got %q, want \"grkg\"", body)
			}
		}
	})
}

func TestRot13RotatesOnlyLetters(t *testing.T) {
	rotated := through(t, "text/plain", basic.Rot13())
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.Byte()).Draw(t, "text")
		got := rotated(cut(text, rapid.IntRange(1, 10).Draw(t, "piece")))
		const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMabcdefghijklmnopqrstuvwxyzabcdefghijklm"
		want := bytes.Clone(text)
		for i, b := range text {
			if at := strings.IndexByte(letters, b); at >= 0 {
				want[i] = letters[at+13]
			}
		}
		if got != string(want) {
			t.Fatalf("%q: got %q, want %q", text, got, want)
		}
	})
}

// BenchmarkRot13 compares a filter as a writer with one as a reader, a goroutine and an io.Pipe.
func BenchmarkRot13(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"4KB", 4 << 10}, {"1MB", 1 << 20}} {
		body := bytes.Repeat([]byte("rot13 "), size.bytes/6)
		source := web.Source(func(*web.Conn) web.Body { return web.Stream(-1, inPieces(body)) })
		for name, c := range map[string]web.Component{"none": basic.Pass(), "writer": basic.Rot13(), "piped": basic.Rot13Piped()} {
			b.Run(size.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				r, _ := http.NewRequest("GET", "http://h/", nil)
				benchmark(b, web.Chain(source, c), r)
			})
		}
	}
}

// inPieces writes a body 32 KB at a time, as io.Copy does.
func inPieces(body []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		for from := 0; from < len(body); from += 32 << 10 {
			if _, err := w.Write(body[from:min(len(body), from+32<<10)]); err != nil {
				return err
			}
		}
		return nil
	}
}
