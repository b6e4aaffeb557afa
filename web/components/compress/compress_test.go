package compress

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

var text = strings.Repeat("Words that come again and again compress well. ", 100)

// start runs a source behind which there is compression, and gives its address.
func start(t testing.TB, way flow.Way, cfg Config, source web.Component, more ...web.Component) string {
	t.Helper()
	z, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return webtest.Serve(t, way, web.Chain(append(append([]web.Component{source}, more...), z)...))
}

// page is a source of a text with these fields.
func page(body string, fields ...string) web.Component {
	return web.Source(func(c *web.Conn) web.Body {
		for i := 0; i < len(fields); i += 2 {
			c.SetHeader(fields[i], fields[i+1])
		}
		return web.String(body)
	})
}

// stream is the same as a stream of unknown length.
func stream(body string, fields ...string) web.Component {
	source := page("", fields...)
	return web.Source(func(c *web.Conn) web.Body {
		source.Handle(c)
		return web.Stream(-1, func(w io.Writer) error { _, err := io.WriteString(w, body); return err })
	})
}

// ask sends a request by a version of HTTP; the body of the answer is as it came.
func ask(t testing.TB, url, method, version string, fields ...string) (*http.Response, []byte) {
	t.Helper()
	resp, body := webtest.Raw(t, url, method+" / HTTP/"+version, fields...)
	return resp, []byte(body)
}

// decode undoes a coding by another implementation where there is one.
func decode(coding string, body []byte) (string, error) {
	var r io.Reader
	var err error
	switch coding {
	case "":
		return string(body), nil
	case "gzip":
		r, err = gzip.NewReader(bytes.NewReader(body))
	case "deflate":
		r, err = zlib.NewReader(bytes.NewReader(body))
	case "br":
		r = brotli.NewReader(bytes.NewReader(body))
	case "zstd":
		z, err := zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderMaxWindow(8<<20), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return "", err
		}
		defer z.Close()
		r = z
	}
	if err != nil {
		return "", err
	}
	out, err := io.ReadAll(r)
	return string(out), err
}

var kinds = []string{"Content-Type", "text/plain; charset=utf-8", "Etag", `"tag"`}

func TestCodings(t *testing.T) {
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		for _, effort := range []string{"", "fast", "best"} {
			for what, source := range map[string]web.Component{
				"bytes with a tag": page(text, kinds...), "bytes": page(text, kinds[:2]...), "a stream": stream(text, kinds...),
			} {
				url := start(t, way, Config{Effort: effort}, source)
				for accept, want := range map[string]string{"gzip": "gzip", "deflate": "deflate", "br": "br", "zstd": "zstd", "gzip, deflate, br, zstd": "zstd", "br, gzip": "br", "": "", "identity": "", "zstd;q=0.5, gzip;q=0.6": "gzip"} {
					for range 2 {
						resp, body := ask(t, url, "GET", "1.1", "Accept-Encoding", accept)
						got, err := decode(want, body)
						if resp.Header.Get("Content-Encoding") != want || err != nil || got != text || want != "" && len(body) > len(text)/5 {
							t.Errorf("%s, %s, %s: Accept-Encoding: %s: %v, %d bytes, %v", way, effort, what, accept, resp.Header, len(body), err)
						}
						if resp.Header.Get("Vary") != "Accept-Encoding" || resp.Header.Get("Content-Type") != kinds[1] {
							t.Errorf("%s: %v", what, resp.Header)
						}
					}
				}
			}
		}
	}
}

func TestWhatIsLeftAlone(t *testing.T) {
	status := func(status int, source web.Component) web.Component {
		return web.Source(func(c *web.Conn) web.Body { source.Handle(c); c.SetStatus(status); return c.Body() })
	}
	for _, c := range []struct {
		what    string
		source  web.Component
		version string
		accept  string
		vary    bool
	}{
		{"a client of HTTP/1.0", page(text, kinds...), "1.0", "gzip", true},
		{"a small body", page("short", kinds...), "1.1", "gzip", false},
		{"an image", page(text, "Content-Type", "image/png"), "1.1", "gzip", false},
		{"what is coded", page(text, "Content-Type", "text/css", "Content-Encoding", "br"), "1.1", "gzip, br", false},
		{"no-transform", page(text, "Content-Type", "text/css", "Cache-Control", "public, no-transform"), "1.1", "gzip", false},
		{"a part", page(text, "Content-Type", "text/css", "Content-Range", "bytes 0-1/9"), "1.1", "gzip", false},
		{"a partial response", status(206, page(text, kinds...)), "1.1", "gzip", false},
		{"a coding that is not offered", page(text, kinds...), "1.1", "compress", true},
		{"what the client likes better as it is", page(text, kinds...), "1.1", "gzip;q=0.5, identity", true},
		{"a stream without a type", stream(text), "1.1", "gzip", false},
	} {
		resp, body := ask(t, start(t, flow.Chain, Config{}, c.source), "GET", c.version, "Accept-Encoding", c.accept)
		if coding := resp.Header.Get("Content-Encoding"); coding != "" && coding != "br" || len(body) != len(text) && string(body) != "short" {
			t.Errorf("%s is changed: %v, %d bytes", c.what, resp.Header, len(body))
		}
		if resp.Header.Get("Vary") != "" != c.vary {
			t.Errorf("%s: Vary: %q", c.what, resp.Header.Get("Vary"))
		}
	}
}

func TestIdentityRefused(t *testing.T) {
	url := start(t, flow.Chain, Config{}, page("short", "Content-Type", "image/png"))
	resp, body := ask(t, url, "GET", "1.1", "Accept-Encoding", "gzip, identity;q=0")
	if got, err := decode("gzip", body); resp.Header.Get("Content-Encoding") != "gzip" || got != "short" || err != nil || resp.Header.Get("Vary") == "" {
		t.Errorf("got %v %q %v", resp.Header, got, err)
	}
	if resp, body := ask(t, url, "GET", "1.1", "Accept-Encoding", "gzip"); string(body) != "short" {
		t.Errorf("got %v %q", resp.Header, body)
	}
}

func TestErrorPagesAndBytesWithoutAType(t *testing.T) {
	for _, source := range []web.Component{
		web.Source(func(c *web.Conn) web.Body { c.SetStatus(404); return web.String("<!DOCTYPE html>" + text) }),
	} {
		resp, body := ask(t, start(t, flow.Chain, Config{}, source), "GET", "1.1", "Accept-Encoding", "gzip")
		if got, err := decode("gzip", body); resp.StatusCode != 404 || err != nil || got != "<!DOCTYPE html>"+text || resp.Header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("got %d %v %v", resp.StatusCode, resp.Header, err)
		}
	}
}

// TestWhatIsKept wants bytes with a strong tag to have a length, a strong tag of their own, and
// ranges.
func TestWhatIsKept(t *testing.T) {
	url := start(t, flow.Chain, Config{}, page(text, kinds...))
	plain, _ := ask(t, url, "GET", "1.1")
	resp, body := ask(t, url, "GET", "1.1", "Accept-Encoding", "gzip")
	tag := resp.Header.Get("Etag")
	if resp.ContentLength != int64(len(body)) || !strings.HasPrefix(tag, `"`) || tag == plain.Header.Get("Etag") || resp.Header.Get("Accept-Ranges") != "bytes" {
		t.Errorf("%v", resp.Header)
	}
	if other, _ := ask(t, url, "GET", "1.1", "Accept-Encoding", "br"); other.Header.Get("Etag") == tag {
		t.Error("br has the tag of gzip")
	}
	head, none := ask(t, url, "HEAD", "1.1", "Accept-Encoding", "gzip")
	if head.ContentLength != int64(len(body)) || head.Header.Get("Etag") != tag || head.Header.Get("Content-Encoding") != "gzip" || len(none) != 0 {
		t.Errorf("HEAD: %v", head.Header)
	}
	if resp, _ := ask(t, url, "GET", "1.1", "Accept-Encoding", "gzip", "If-None-Match", tag); resp.StatusCode != 304 || resp.Header.Get("Vary") != "Accept-Encoding" || resp.Header.Get("Etag") != tag {
		t.Errorf("the same tag: %d %v", resp.StatusCode, resp.Header)
	}
	part, bytes := ask(t, url, "GET", "1.1", "Accept-Encoding", "gzip", "Range", "bytes=2-9", "If-Range", tag)
	if part.StatusCode != 206 || string(bytes) != string(body[2:10]) || part.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("a part of the compressed body: %d %v", part.StatusCode, part.Header)
	}
	if whole, _ := ask(t, url, "GET", "1.1", "Accept-Encoding", "gzip", "Range", "bytes=2-9", "If-Range", `"tag"`); whole.StatusCode != 200 {
		t.Errorf("a range of what the client does not have: %d", whole.StatusCode)
	}
}

// TestEqualTagsOfDifferentBodies wants two resources with the same tag not to be taken for one
// another.
func TestEqualTagsOfDifferentBodies(t *testing.T) {
	n := 0
	url := start(t, flow.Chain, Config{}, web.Source(func(c *web.Conn) web.Body {
		n++
		c.SetHeader("Etag", `"1"`)
		c.SetHeader("Content-Type", "text/plain")
		return web.String(strconv.Itoa(n) + text)
	}))
	for i := range 3 {
		_, body := ask(t, url, "GET", "1.1", "Accept-Encoding", "gzip")
		if got, _ := decode("gzip", body); got != strconv.Itoa(i+1)+text {
			t.Errorf("response %d is %q", i+1, got[:10])
		}
	}
}

func TestWhatDoesNotShrink(t *testing.T) {
	random := make([]byte, 4096)
	for i, x := 0, uint32(1); i < len(random); i++ {
		x = x*1664525 + 1013904223
		random[i] = byte(x >> 24)
	}
	url := start(t, flow.Chain, Config{}, page(string(random), kinds...))
	for range 2 {
		if resp, body := ask(t, url, "GET", "1.1", "Accept-Encoding", "gzip"); !bytes.Equal(body, random) || resp.Header.Get("Content-Encoding") != "" || resp.Header.Get("Vary") == "" || resp.Header.Get("Etag") != `"tag"` {
			t.Errorf("got %v, %d bytes", resp.Header, len(body))
		}
	}
}

func TestStreamsHaveAWeakTagAndNoRanges(t *testing.T) {
	for _, cache := range []string{"", "0"} {
		source := stream(text, kinds...)
		if cache == "0" {
			source = page(text, kinds...)
		}
		url := start(t, flow.Chain, Config{Cache: cache}, source)
		for _, method := range []string{"GET", "HEAD"} {
			resp, _ := ask(t, url, method, "1.1", "Accept-Encoding", "gzip", "Range", "bytes=0-4")
			if resp.StatusCode != 200 || resp.Header.Get("Etag") != `W/"tag"` || resp.ContentLength == int64(len(text)) || resp.Header.Get("Accept-Ranges") != "" {
				t.Errorf("%s: got %d %v", method, resp.StatusCode, resp.Header)
			}
		}
	}
}

// TestEventsArriveAtOnce reads an event before the next one is written.
func TestEventsArriveAtOnce(t *testing.T) {
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		for _, name := range []string{"gzip", "deflate", "br", "zstd"} {
			// from the test -> to the source, one for each event but the first; closed by the test
			next := make(chan struct{})
			url := start(t, way, Config{}, web.Source(func(c *web.Conn) web.Body {
				c.SetHeader("Content-Type", "text/event-stream")
				return web.Stream(-1, func(w io.Writer) error {
					for i := range 3 {
						fmt.Fprintf(w, "data: %d\n\n", i)
						if err := web.Flush(w); err != nil {
							return err
						}
						<-next
					}
					return nil
				})
			}))
			req, _ := http.NewRequest("GET", url, nil)
			req.Header.Set("Accept-Encoding", name)
			resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			r := bufio.NewReader(reader(t, name, resp.Body))
			for i := range 3 {
				line, err := r.ReadString('\n')
				if err != nil || line != fmt.Sprintf("data: %d\n", i) {
					t.Errorf("%s: event %d: %q, %v", name, i, line, err)
				}
				_, _ = r.ReadString('\n')
				next <- struct{}{}
			}
			if _, err := io.ReadAll(r); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			resp.Body.Close()
		}
	}
}

// reader decodes as bytes come.
func reader(t *testing.T, name string, body io.Reader) (r io.Reader) {
	var err error
	switch name {
	case "gzip":
		r, err = gzip.NewReader(body)
	case "deflate":
		r, err = zlib.NewReader(body)
	case "br":
		return brotli.NewReader(body)
	case "zstd":
		var z *zstd.Decoder
		if z, err = zstd.NewReader(body, zstd.WithDecoderConcurrency(1)); err == nil {
			t.Cleanup(z.Close)
		}
		r = z
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAStreamThatBreaksOff wants the client to see that the body is not whole, and the encoder not
// to be used twice.
func TestAStreamThatBreaksOff(t *testing.T) {
	url := start(t, flow.Chain, Config{}, web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Content-Type", "text/plain")
		return web.Stream(-1, func(w io.Writer) error {
			io.WriteString(w, text)
			_ = web.Flush(w)
			return io.ErrUnexpectedEOF
		})
	}))
	for range 3 {
		req, _ := http.NewRequest("GET", url, nil)
		req.Header.Set("Accept-Encoding", "gzip")
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); err == nil {
			t.Error("a body that broke off looks whole")
		}
		resp.Body.Close()
	}
}
