package basic_test

import (
	"strings"
	"testing"

	"weir/web"
	"weir/web/components/basic"
	"weir/web/internal/webtest"
)

func ExampleRequestID() {
	name := must(basic.RequestID(basic.RequestIDConfig{}))
	see := echo(func(c *web.Conn) string {
		id := c.StringValue(web.RequestID)
		if id != c.RequestHeader("X-Request-ID") || id != c.Header("X-Request-ID") || len(id) != 26 {
			return "no proper name"
		}
		return "it has a name"
	})
	ask(web.Chain(name, see), "GET /")
	// Output:
	// 200 OK
	// it has a name
}

func TestRequestIDIsPassedOnAndSent(t *testing.T) {
	see := echo(func(c *web.Conn) string { return c.RequestHeader("X-Trace") + " " + c.StringValue(web.RequestID) })
	for _, c := range []struct {
		name  string
		trust bool
		came  string
		kept  bool
	}{
		{"none", true, "", false},
		{"proper", true, "4fa-1.B_c:/+=@", true},
		{"proper, not trusted", false, "4fa", false},
		{"with a space", true, "4 fa", false},
		{"with a quote", true, `4"fa`, false},
		{"as long as may be", true, strings.Repeat("a", 128), true},
		{"too long", true, strings.Repeat("a", 129), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			site := web.Chain(must(basic.RequestID(basic.RequestIDConfig{Header: "x-trace", Trust: c.trust})), see)
			webtest.ServeBothWays(t, site, func(t *testing.T, url string) {
				resp, body := webtest.Get(t, url, "X-Trace", c.came)
				id := resp.Header.Get("X-Trace")
				if body != id+" "+id || (id == c.came) != c.kept || !c.kept && len(id) != 26 {
					t.Errorf("got %q, and %q in the head; %q came, want one valid ID in both", body, id, c.came)
				}
			})
		})
	}
	c, err := basic.RequestID(basic.RequestIDConfig{Header: "a:"})
	wantError(t, c, err, "request_id: header is")
}

func TestRequestIDsDiffer(t *testing.T) {
	url := webtest.Serve(t, "chain", web.Chain(must(basic.RequestID(basic.RequestIDConfig{})), basic.Text("x")))
	seen := map[string]bool{}
	for range 20 {
		resp, _ := webtest.Get(t, url)
		seen[resp.Header.Get("X-Request-ID")] = true
	}
	if len(seen) != 20 {
		t.Errorf("got %d different IDs for 20 exchanges, want 20", len(seen))
	}
}
