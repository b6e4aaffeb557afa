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

// start serves a chain of a source, the components in more and a compressor, and returns its URL.
func start(t testing.TB, way flow.Way, cfg Config, source web.Component, more ...web.Component) string {
	t.Helper()
	z, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return webtest.Serve(t, way, web.Chain(append(append([]web.Component{source}, more...), z)...))
}

// page is a source that answers with the bytes of body. fields alternates names and values
// of header fields.
func page(body string, fields ...string) web.Component {
	return web.Source(func(c *web.Conn) web.Body {
		for i := 0; i < len(fields); i += 2 {
			c.SetHeader(fields[i], fields[i+1])
		}
		return web.String(body)
	})
}

// stream is a source like page whose body is a stream of unknown length.
func stream(body string, fields ...string) web.Component {
	source := page("", fields...)
	return web.Source(func(c *web.Conn) web.Body {
		source.Handle(c)
		return web.Stream(-1, func(w io.Writer) error { _, err := io.WriteString(w, body); return err })
	})
}

// ask sends a request by the given version of HTTP, "1.0" or "1.1". It returns the response and its
// body without decoding it. fields alternates names and values of header fields.
func ask(t testing.TB, url, method, version string, fields ...string) (*http.Response, []byte) {
	t.Helper()
	resp, body := webtest.Raw(t, url, method+" / HTTP/"+version, fields...)
	return resp, []byte(body)
}

// decode decodes a body with the content coding of that name; "" is no coding. Where it can, it
// uses another implementation than the one that encoded.
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

const textType = "text/plain; charset=utf-8"

// typeAndTag are the header fields of a page that may be compressed and, because its entity tag is
// strong, cached.
var typeAndTag = []string{"Content-Type", textType, "Etag", `"tag"`}

// The coding with the greatest weight is used; among equal ones, the first that the server offers.
func TestTheBestAcceptedCodingIsUsed(t *testing.T) {
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		for _, effort := range []string{"", "fast", "best"} {
			for what, source := range map[string]web.Component{
				"a page with an entity tag": page(text, typeAndTag...), "a page without an entity tag": page(text, typeAndTag[:2]...),
				"a stream": stream(text, typeAndTag...),
			} {
				url := start(t, way, Config{Effort: effort}, source)
				for accept, want := range map[string]string{"gzip": "gzip", "deflate": "deflate", "br": "br", "zstd": "zstd", "gzip, deflate, br, zstd": "zstd", "br, gzip": "br", "": "", "identity": "", "zstd;q=0.5, gzip;q=0.6": "gzip"} {
					// the second response of a page with an entity tag comes from the cache
					for range 2 {
						resp, body := ask(t, url, "GET", "1.1", "Accept-Encoding", accept)
						got, err := decode(want, body)
						if resp.Header.Get("Content-Encoding") != want || err != nil || got != text || want != "" && len(body) > len(text)/5 {
							t.Errorf("%s, effort %q, %s, Accept-Encoding %q: got %v, %d bytes, error %v; want coding %q, at most a fifth of the %d bytes", way, effort, what, accept, resp.Header, len(body), err, want, len(text))
						}
						if resp.Header.Get("Vary") != "Accept-Encoding" || resp.Header.Get("Content-Type") != textType {
							t.Errorf("%s: got %v, want Vary: Accept-Encoding and Content-Type: %s", what, resp.Header, textType)
						}
					}
				}
			}
		}
	}
}

// Some responses are not compressed. If another Accept-Encoding would have had them compressed,
// they need the field Vary, so that a cache does not send a response to clients for which it is
// wrong.
func TestSomeResponsesAreNotCompressed(t *testing.T) {
	withStatus := func(status int, source web.Component) web.Component {
		return web.Source(func(c *web.Conn) web.Body { source.Handle(c); c.SetStatus(status); return c.Body() })
	}
	for _, c := range []struct {
		what    string
		source  web.Component
		version string
		accept  string
		vary    bool // the response has the field Vary
	}{
		{"a response to HTTP/1.0", page(text, typeAndTag...), "1.0", "gzip", true},
		{"a small body", page("short", typeAndTag...), "1.1", "gzip", false},
		{"an image", page(text, "Content-Type", "image/png"), "1.1", "gzip", false},
		{"a coded body", page(text, "Content-Type", "text/css", "Content-Encoding", "br"), "1.1", "gzip, br", false},
		{"a response with no-transform", page(text, "Content-Type", "text/css", "Cache-Control", "public, no-transform"), "1.1", "gzip", false},
		{"a response with Content-Range", page(text, "Content-Type", "text/css", "Content-Range", "bytes 0-1/9"), "1.1", "gzip", false},
		{"a response with status 206", withStatus(206, page(text, typeAndTag...)), "1.1", "gzip", false},
		{"a response to a client with another coding", page(text, typeAndTag...), "1.1", "compress", true},
		{"a response to a client that prefers identity", page(text, typeAndTag...), "1.1", "gzip;q=0.5, identity", true},
		{"a stream without a type", stream(text), "1.1", "gzip", false},
	} {
		resp, body := ask(t, start(t, flow.Chain, Config{}, c.source), "GET", c.version, "Accept-Encoding", c.accept)
		if coding := resp.Header.Get("Content-Encoding"); coding != "" && coding != "br" || len(body) != len(text) && string(body) != "short" {
			t.Errorf("%s: got %v, %d bytes; want the source's body", c.what, resp.Header, len(body))
		}
		if vary := resp.Header.Get("Vary"); vary != "" != c.vary {
			t.Errorf("%s: got Vary %q, want the field: %v", c.what, vary, c.vary)
		}
	}
}

// A body that is otherwise not worth compressing is compressed for a client that excludes identity
// (RFC 9110, section 12.5.3).
func TestEveryBodyIsCompressedIfTheClientExcludesIdentity(t *testing.T) {
	url := start(t, flow.Chain, Config{}, page("short", "Content-Type", "image/png"))
	resp, body := ask(t, url, "GET", "1.1", "Accept-Encoding", "gzip, identity;q=0")
	if got, err := decode("gzip", body); resp.Header.Get("Content-Encoding") != "gzip" || got != "short" || err != nil || resp.Header.Get("Vary") == "" {
		t.Errorf("identity excluded: got %v, body %q, error %v; want gzip of %q and Vary", resp.Header, got, err, "short")
	}
	if resp, body := ask(t, url, "GET", "1.1", "Accept-Encoding", "gzip"); string(body) != "short" {
		t.Errorf("identity accepted: got %v, body %q; want %q", resp.Header, body, "short")
	}
}

func TestAnErrorPageWithoutATypeIsCompressed(t *testing.T) {
	source := web.Source(func(c *web.Conn) web.Body { c.SetStatus(404); return web.String("<!DOCTYPE html>" + text) })
	resp, body := ask(t, start(t, flow.Chain, Config{}, source), "GET", "1.1", "Accept-Encoding", "gzip")
	if got, err := decode("gzip", body); resp.StatusCode != 404 || err != nil || got != "<!DOCTYPE html>"+text || resp.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("got %d %v, error %v; want 404, the page in gzip, and the type that its bytes show", resp.StatusCode, resp.Header, err)
	}
}

// The compressed body of a page with a strong entity tag is cached as a whole. So its length is
// known, it has a strong entity tag of its own for each coding, and ranges of it can be sent.
func TestACachedBodyHasItsOwnTagAndRanges(t *testing.T) {
	url := start(t, flow.Chain, Config{}, page(text, typeAndTag...))
	plain, _ := ask(t, url, "GET", "1.1")
	resp, body := ask(t, url, "GET", "1.1", "Accept-Encoding", "gzip")
	tag := resp.Header.Get("Etag")
	if resp.ContentLength != int64(len(body)) || !strings.HasPrefix(tag, `"`) || tag == plain.Header.Get("Etag") || resp.Header.Get("Accept-Ranges") != "bytes" {
		t.Errorf("got %v, want Content-Length %d, Accept-Ranges, and a strong Etag other than %s", resp.Header, len(body), plain.Header.Get("Etag"))
	}
	if other, _ := ask(t, url, "GET", "1.1", "Accept-Encoding", "br"); other.Header.Get("Etag") == tag {
		t.Errorf("br and gzip both have the entity tag %s, want different ones", tag)
	}
	head, headBody := ask(t, url, "HEAD", "1.1", "Accept-Encoding", "gzip")
	if head.ContentLength != int64(len(body)) || head.Header.Get("Etag") != tag || head.Header.Get("Content-Encoding") != "gzip" || len(headBody) != 0 {
		t.Errorf("HEAD: got %v and %d bytes, want the fields of GET and no body", head.Header, len(headBody))
	}
	if resp, _ := ask(t, url, "GET", "1.1", "Accept-Encoding", "gzip", "If-None-Match", tag); resp.StatusCode != 304 || resp.Header.Get("Vary") != "Accept-Encoding" || resp.Header.Get("Etag") != tag {
		t.Errorf("If-None-Match with the body's tag: got %d %v, want 304 with Vary and Etag %s", resp.StatusCode, resp.Header, tag)
	}
	part, partBody := ask(t, url, "GET", "1.1", "Accept-Encoding", "gzip", "Range", "bytes=2-9", "If-Range", tag)
	if part.StatusCode != 206 || !bytes.Equal(partBody, body[2:10]) || part.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("bytes 2-9, If-Range with the body's tag: got %d %v %q, want 206 with these bytes of the compressed body", part.StatusCode, part.Header, partBody)
	}
	// `"tag"` is the entity tag of the uncompressed page
	if whole, _ := ask(t, url, "GET", "1.1", "Accept-Encoding", "gzip", "Range", "bytes=2-9", "If-Range", `"tag"`); whole.StatusCode != 200 {
		t.Errorf("bytes 2-9, If-Range with the tag of another body: got %d, want 200 (RFC 9110, section 13.1.5)", whole.StatusCode)
	}
}

// Two resources can have the same entity tag, so the cache compares their bodies too.
func TestBodiesWithEqualTagsAreNotConfused(t *testing.T) {
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
			t.Errorf("response %d starts with %q, want the number %d", i+1, got[:min(len(got), 10)], i+1)
		}
	}
}

func TestABodyThatDoesNotShrinkIsSentUncompressed(t *testing.T) {
	random := make([]byte, 4096)
	for i, x := 0, uint32(1); i < len(random); i++ {
		x = x*1664525 + 1013904223
		random[i] = byte(x >> 24)
	}
	url := start(t, flow.Chain, Config{}, page(string(random), typeAndTag...))
	for range 2 { // the second response comes from the cache
		if resp, body := ask(t, url, "GET", "1.1", "Accept-Encoding", "gzip"); !bytes.Equal(body, random) || resp.Header.Get("Content-Encoding") != "" || resp.Header.Get("Vary") == "" || resp.Header.Get("Etag") != `"tag"` {
			t.Errorf("got %v, %d bytes; want the %d bytes of the source, its Etag, and Vary", resp.Header, len(body), len(random))
		}
	}
}

// A stream is compressed while it is sent, and so is every body if there is no cache. Its
// compressed length and bytes are not known in advance.
func TestABodyThatIsNotCachedHasAWeakTagAndNoRanges(t *testing.T) {
	for what, c := range map[string]struct {
		cache  string
		source web.Component
	}{"a stream": {"", stream(text, typeAndTag...)}, "a page without a cache": {"0", page(text, typeAndTag...)}} {
		url := start(t, flow.Chain, Config{Cache: c.cache}, c.source)
		for _, method := range []string{"GET", "HEAD"} {
			resp, _ := ask(t, url, method, "1.1", "Accept-Encoding", "gzip", "Range", "bytes=0-4")
			if resp.StatusCode != 200 || resp.Header.Get("Etag") != `W/"tag"` || resp.ContentLength == int64(len(text)) || resp.Header.Get("Accept-Ranges") != "" {
				t.Errorf("%s of %s: got %d %v, want 200, Etag W/\"tag\", no Accept-Ranges, and not the length of the source's body", method, what, resp.StatusCode, resp.Header)
			}
		}
	}
}

// The client reads each event before the source writes the next one.
func TestEventsArriveAtOnce(t *testing.T) {
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		for _, name := range []string{"gzip", "deflate", "br", "zstd"} {
			// sent by the test after it read an event, received by the source; never closed
			eventRead := make(chan struct{})
			url := start(t, way, Config{}, web.Source(func(c *web.Conn) web.Body {
				c.SetHeader("Content-Type", "text/event-stream")
				return web.Stream(-1, func(w io.Writer) error {
					for i := range 3 {
						fmt.Fprintf(w, "data: %d\n\n", i)
						if err := web.Flush(w); err != nil {
							return err
						}
						<-eventRead
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
					t.Errorf("%s: event %d: got %q, error %v; want %q", name, i, line, err, fmt.Sprintf("data: %d\n", i))
				}
				_, _ = r.ReadString('\n')
				eventRead <- struct{}{}
			}
			if _, err := io.ReadAll(r); err != nil {
				t.Errorf("%s: got error %v after the last event, want EOF", name, err)
			}
			resp.Body.Close()
		}
	}
}

// reader returns a reader that decodes body while it is received.
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

// A stream whose source fails is not ended as if it were complete.
func TestAClientSeesATruncatedStreamAsTruncated(t *testing.T) {
	url := start(t, flow.Chain, Config{}, web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Content-Type", "text/plain")
		return web.Stream(-1, func(w io.Writer) error {
			io.WriteString(w, text)
			_ = web.Flush(w)
			return io.ErrUnexpectedEOF
		})
	}))
	for range 3 { // later responses reuse the encoder of a truncated one
		req, _ := http.NewRequest("GET", url, nil)
		req.Header.Set("Accept-Encoding", "gzip")
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); err == nil {
			t.Error("the client read a truncated body without an error, want one")
		}
		resp.Body.Close()
	}
}
