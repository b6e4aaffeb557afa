package web_test

import (
	"testing"

	"weir/web"
	"weir/web/internal/webtest"
)

// A function registered by Before sees the response that the client would get: of a source, the
// default 404, or of a panic. The function registered first runs last.
func TestBeforeCanReplaceTheResponse(t *testing.T) {
	say := func(word string) web.Component {
		return web.Pipe(func(c *web.Conn) {
			c.Before(func(c *web.Conn) {
				old, _ := c.Body().Bytes()
				c.Answer(web.String(word + " " + string(old)))
			})
		})
	}
	fragile := web.Pipe(func(c *web.Conn) {
		if c.Path() == "/panic" {
			panic("no")
		}
	})
	c := web.Chain(say("outer"), say("inner"), fragile, web.When("page", pathIs("/"), text("page")))
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		for _, want := range []struct {
			path, body string
			status     int
		}{
			{"/", "outer inner page", 200},
			{"/none", "outer inner 404 Not Found\n", 404},
			{"/panic", "outer inner 500 Internal Server Error\n", 500},
		} {
			if resp, body := get(t, url+want.path); resp.StatusCode != want.status || body != want.body {
				t.Errorf("%s: got %d %q, want %d %q", want.path, resp.StatusCode, body, want.status, want.body)
			}
		}
	})
}

func TestAFieldIsAddedToTheRequest(t *testing.T) {
	c := web.Chain(web.Pipe(func(c *web.Conn) { c.AddRequestHeader("X-Hop", "b") }), web.Source(func(c *web.Conn) web.Body {
		h := c.RequestHeaders("X-Hop")
		return web.String(h[0] + h[1])
	}))
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		if _, body := get(t, url, "X-Hop", "a"); body != "ab" {
			t.Errorf("got %q, want both fields", body)
		}
	})
}
