package web_test

import (
	"testing"

	"weir/web"
	"weir/web/internal/webtest"
)

func TestAKeyJoinsComponents(t *testing.T) {
	set := web.Pipe(func(c *web.Conn) { c.SetValue(web.User, "ann"); c.SetValue(web.Upstream, 7) })
	tell := web.Source(func(c *web.Conn) web.Body {
		return web.String(c.Text(web.User) + "," + c.Text(web.RequestID) + "," + c.Text(web.Upstream))
	})
	webtest.BothWays(t, web.Chain(set, tell), func(t *testing.T, url string) {
		if _, body := get(t, url); body != "ann,," {
			t.Errorf("%q, want the user, and nothing of what nobody left or is no text", body)
		}
	})
}
