package webtest_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

func TestBothWaysRunsChainAndNetwork(t *testing.T) {
	var ways []string
	to := make(chan webtest.ExchangeEnd, 1)
	says := web.Source(func(c *web.Conn) web.Body {
		if c.Path() == "/away" {
			c.SetHeader("Location", "/")
			return c.StatusBody(302)
		}
		body, err := io.ReadAll(c.RequestBody())
		if err != nil {
			t.Errorf("reading the request's body: got %v, want nil", err)
		}
		return web.String(fmt.Sprintf("%s %s %s %s %q", c.Method(), c.Host(), body, c.RequestHeader("X-A"), c.RequestHeader("Accept-Encoding")))
	})
	webtest.ServeBothWays(t, web.Chain(webtest.RecordEnds(to), says), func(t *testing.T, url string) {
		ways = append(ways, t.Name()[strings.LastIndexByte(t.Name(), '/')+1:])
		resp, body := webtest.Do(t, "POST", url, strings.NewReader("text"), "Host", "example.org", "x-a", "1")
		if want := `POST example.org text 1 ""`; body != want || resp.Header.Get("X-Before") != "kept" {
			t.Errorf("got %s %v, want %s", body, resp.Header, want)
		}
		if end := <-to; end != (webtest.ExchangeEnd{Status: 200}) {
			t.Errorf("the exchange ended with %+v, want 200 and no error", end)
		}
		if resp, _ := webtest.Get(t, url+"/away"); resp.StatusCode != 302 {
			t.Errorf("got %d, want the redirect itself", resp.StatusCode)
		}
		<-to
	})
	if got := strings.Join(ways, " "); got != "chain network" {
		t.Errorf("ran as %q, want chain and network", got)
	}
}

func TestRawSendsTheRequestLineAsWritten(t *testing.T) {
	says := web.Source(func(c *web.Conn) web.Body {
		return web.String(fmt.Sprintf("%s %s %s", c.Target(), c.Proto(), c.RequestHeader("X-A")))
	})
	url := webtest.Serve(t, flow.Chain, says)
	if _, body := webtest.Raw(t, url, "GET /a/../%62 HTTP/1.0", "X-A", "1"); body != "/a/../%62 HTTP/1.0 1" {
		t.Errorf("got %q, want the target and version as written, and the field", body)
	}
	if resp, body := webtest.Raw(t, url, "HEAD / HTTP/1.1"); resp.StatusCode != 200 || body != "" {
		t.Errorf("HEAD: got %d %q, want 200 without a body", resp.StatusCode, body)
	}
}

func TestServeClosesBeforeEarlierCleanups(t *testing.T) {
	over := make(chan webtest.ExchangeEnd, 1)
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		t.Cleanup(func() {
			if len(over) != 1 {
				t.Errorf("at the cleanup: got %d ended exchanges, want 1", len(over))
			}
			<-over
		})
		webtest.Get(t, webtest.Serve(t, way, webtest.RecordEnds(over)))
	})
}
