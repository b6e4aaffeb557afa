package web_test

import (
	"testing"

	"weir/web"
	"weir/web/internal/webtest"
)

func TestStringValuesPassBetweenComponents(t *testing.T) {
	set := web.Pipe(func(c *web.Conn) { c.SetValue(web.User, "ann"); c.SetValue(web.Upstream, 7) })
	tell := web.Source(func(c *web.Conn) web.Body {
		return web.String(c.StringValue(web.User) + "," + c.StringValue(web.RequestID) + "," + c.StringValue(web.Upstream))
	})
	webtest.ServeBothWays(t, web.Chain(set, tell), func(t *testing.T, url string) {
		if _, body := get(t, url); body != "ann,," {
			t.Errorf("got %q, want the user, and nothing for a key without a value or with another type", body)
		}
	})
}
