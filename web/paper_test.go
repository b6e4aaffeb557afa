package web_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"testing"

	"weir/web"
	"weir/web/internal/webtest"
)

func text(s string) web.Component {
	return web.Named("text", web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Content-Type", "text/plain")
		return web.String(s)
	}))
}

func zip(c *web.Conn) web.Transform {
	c.SetHeader("Content-Encoding", "gzip")
	return func(next io.Writer) io.WriteCloser { return gzip.NewWriter(next) }
}

// get returns the response, and the body as seen by a client that decodes gzip and keeps
// connections.
func get(t *testing.T, url string, header ...string) (*http.Response, string) {
	t.Helper()
	return webtest.Fetch(t, http.DefaultClient, "GET", url, nil, header...)
}

func TestFilterCodesTheBodyOfASource(t *testing.T) {
	webtest.ServeBothWays(t, web.Chain(text("hello"), web.Filter(zip)), func(t *testing.T, url string) {
		resp, body := get(t, url)
		if body != "hello" || !resp.Uncompressed {
			t.Errorf("got %q, decoded by the client: %t, want hello with a gzip coding", body, resp.Uncompressed)
		}
	})
}

func TestPanicIsAnswered500AndTheNextRequestIsServed(t *testing.T) {
	c := web.Chain(web.Pipe(func(c *web.Conn) {
		if c.Path() == "/panic" {
			panic("no")
		}
	}), text("fine"))
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		if resp, body := get(t, url+"/panic"); resp.StatusCode != 500 || body != "500 Internal Server Error\n" {
			t.Errorf("GET /panic: got %d %q, want 500", resp.StatusCode, body)
		}
		if resp, body := get(t, url); resp.StatusCode != 200 || body != "fine" {
			t.Errorf("GET /: got %d %q, want 200 and fine", resp.StatusCode, body)
		}
	})
}

func TestTrailersOfAHandlerPassAFilter(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-End")
		io.WriteString(w, "some")
		w.(http.Flusher).Flush()
		io.WriteString(w, " more")
		w.Header().Set("X-End", "yes")
	})
	webtest.ServeBothWays(t, web.Chain(web.FromHTTP(h), web.Filter(zip)), func(t *testing.T, url string) {
		resp, body := get(t, url)
		if body != "some more" || resp.Trailer.Get("X-End") != "yes" {
			t.Errorf("got %q, trailers %v, want the decoded body and X-End: yes", body, resp.Trailer)
		}
	})
}
