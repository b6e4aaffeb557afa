package compress

import (
	"io"
	"net/http"
	"testing"

	"weir/flow"
	"weir/web"
)

// nowhere is a ResponseWriter that throws away what it is given.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) WriteHeader(int)             {}
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkCompress64K answers with 64 KB of text, as bytes that are kept compressed and as a
// stream that is compressed each time.
func BenchmarkCompress64K(b *testing.B) {
	var text []byte
	// words of changing letters
	for x := uint32(1); len(text) < 64<<10; x = x*1664525 + 1013904223 {
		text = append(text, "the river rises and falls again "[x>>28:16+(x>>29)]...)
		text = append(text, 'a'+byte(x>>20%26), ' ')
	}
	kept := web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Content-Type", "text/plain")
		c.SetHeader("Etag", `"tag"`)
		return web.Bytes(text)
	})
	for _, name := range []string{"zstd", "br", "gzip", "deflate"} {
		for _, kind := range []string{"kept", "stream"} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				source := kept
				if kind == "stream" {
					source = func(c *web.Conn) web.Body {
						c.SetHeader("Content-Type", "text/plain")
						return web.Stream(-1, func(w io.Writer) error { _, err := w.Write(text); return err })
					}
				}
				z, err := New(Config{})
				if err != nil {
					b.Fatal(err)
				}
				h, err := web.New(web.Chain(source, z), web.Options{Way: flow.Chain})
				if err != nil {
					b.Fatal(err)
				}
				defer h.Close()
				r, err := http.NewRequest("GET", "/", nil)
				if err != nil {
					b.Fatal(err)
				}
				r.Header.Set("Accept-Encoding", name)
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					h.ServeHTTP(&nowhere{http.Header{}}, r)
				}
			})
		}
	}
}
