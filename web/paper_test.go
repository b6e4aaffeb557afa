package web_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"weir/flow"
	"weir/web"
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

// bothWays runs a test of a composition as a chain and as a process network.
func bothWays(t *testing.T, c web.Component, test func(t *testing.T, url string)) {
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		t.Run(string(way), func(t *testing.T) {
			h, err := web.New(c, web.Options{Way: way})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			s := httptest.NewServer(h)
			defer s.Close()
			test(t, s.URL)
		})
	}
}

// get gives the response, and the body as the client sees it.
func get(t *testing.T, url string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestASourceAndAFilter(t *testing.T) {
	bothWays(t, web.Chain(text("hello"), web.Filter(zip)), func(t *testing.T, url string) {
		resp, body := get(t, url)
		if body != "hello" || !resp.Uncompressed {
			t.Errorf("%q, uncompressed by the client: %v", body, resp.Uncompressed)
		}
	})
}

func TestAPanic(t *testing.T) {
	c := web.Chain(web.Pipe(func(c *web.Conn) {
		if c.Path() == "/panic" {
			panic("no")
		}
	}), text("fine"))
	bothWays(t, c, func(t *testing.T, url string) {
		if resp, body := get(t, url+"/panic"); resp.StatusCode != 500 || body != "500 Internal Server Error\n" {
			t.Errorf("%d %q", resp.StatusCode, body)
		}
		if resp, body := get(t, url); resp.StatusCode != 200 || body != "fine" {
			t.Errorf("%d %q", resp.StatusCode, body)
		}
	})
}

func TestHandler(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-End")
		io.WriteString(w, "some")
		w.(http.Flusher).Flush()
		io.WriteString(w, " more")
		w.Header().Set("X-End", "yes")
	})
	bothWays(t, web.Chain(web.FromHTTP(h), web.Filter(zip)), func(t *testing.T, url string) {
		resp, body := get(t, url)
		if body != "some more" || resp.Trailer.Get("X-End") != "yes" {
			t.Errorf("%q %v", body, resp.Trailer)
		}
	})
}
