package basic_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"weir/web"
	"weir/web/components/basic"
	"weir/web/internal/webtest"
)

func ExampleLimitBody() {
	limit := must(basic.LimitBody(basic.LimitBodyConfig{Max: "10MB"}))
	ask(web.Chain(limit, basic.Text("hello")), "GET /")
	// Output:
	// 200 OK
	// hello
}

func TestLimitBodyRejectsLongerBodies(t *testing.T) {
	reads := web.Source(func(c *web.Conn) web.Body {
		b, err := io.ReadAll(c.RequestBody())
		if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
			return web.String("cut off at " + string(b))
		}
		return web.Bytes(b)
	})
	limit := must(basic.LimitBody(basic.LimitBodyConfig{Max: "4"}))
	webtest.ServeBothWays(t, web.Chain(limit, reads), func(t *testing.T, url string) {
		for _, c := range []struct {
			name   string
			body   io.Reader
			status int
			want   string
		}{
			{"none", http.NoBody, 200, ""},
			{"as long as may be", strings.NewReader("1234"), 200, "1234"},
			{"longer, and says so", strings.NewReader("12345"), 413, "413 Request Entity Too Large\n"},
			{"unknown length", io.MultiReader(strings.NewReader("1234")), 200, "1234"},
			{"longer, and does not say so", io.MultiReader(bytes.NewReader([]byte("12345"))), 200, "cut off at 1234"},
		} {
			if resp, body := webtest.Do(t, "POST", url, c.body); resp.StatusCode != c.status || body != c.want {
				t.Errorf("%s: got %d %q, want %d %q", c.name, resp.StatusCode, body, c.status, c.want)
			}
		}
	})
	c, err := basic.LimitBody(basic.LimitBodyConfig{Max: "much"})
	wantError(t, c, err, "limit_body: max is")
}
