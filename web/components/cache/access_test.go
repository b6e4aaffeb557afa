package cache

import (
	"strings"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

// A response that depends on an access decision inside the cache is not sent to other clients, even
// if its Cache-Control is public.
func TestResponseBehindAnInnerLoginIsNotStored(t *testing.T) {
	open := web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Cache-Control", "public, max-age=100")
		return web.String("secret")
	})
	byUser := web.Pipe(func(c *web.Conn) {
		if c.RequestHeader("Authorization") == "" {
			c.Reply(401)
			return
		}
		c.SetValue(web.User, "ann")
	})
	byAddress := web.Pipe(func(c *web.Conn) {
		c.SetValue(web.Personal, "the client's address")
		if c.RequestHeader("X-Test-From") == "" {
			c.Reply(403)
		}
	})
	for name, guard := range map[string]web.Component{"user": byUser, "address": byAddress} {
		webtest.EachWay(t, func(t *testing.T, way flow.Way) {
			url := webtest.Serve(t, way, cached(t, Config{}, web.Chain(guard, open)))
			if _, body := webtest.Get(t, url, "Authorization", "Basic x", "X-Test-From", "inside"); body != "secret" {
				t.Fatalf("%s: let in: got %q, want the secret", name, body)
			}
			if resp, body := webtest.Get(t, url); strings.Contains(body, "secret") {
				t.Errorf("%s: not logged in: got %d %q (%s), want no secret", name, resp.StatusCode, body, resp.Header.Get("Cache-Status"))
			}
		})
	}
}

// A decision before the cache holds for every request that reaches the cache.
func TestResponseBehindAnOuterLoginIsStored(t *testing.T) {
	source, n := counted("x")
	user := web.Pipe(func(c *web.Conn) { c.SetValue(web.User, c.RequestHeader("X-User")) })
	url := webtest.Serve(t, flow.Chain, web.Chain(user, cached(t, Config{}, source)))
	for _, name := range []string{"ann", "bob"} {
		webtest.Get(t, url, "X-User", name)
	}
	if *n != 1 {
		t.Errorf("the source got %d requests, want 1", *n)
	}
}

// All spellings of a path have one key.
func TestSpellingsOfAPathShareAResponse(t *testing.T) {
	source, n := counted("x")
	url := webtest.Serve(t, flow.Chain, cached(t, Config{}, source))
	for _, target := range []string{"/a/b", "//a/./%62", "/x/../a/b", "http://TEST.:80/a/b"} {
		webtest.Raw(t, url, "GET "+target+" HTTP/1.1")
	}
	if *n != 1 {
		t.Errorf("the source got %d requests, want 1", *n)
	}
}
