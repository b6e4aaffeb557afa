package proxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"testing"

	"weir/web"
	"weir/web/internal/client"
)

// mirror responds with the request that it received, one field a line.
func mirror(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s\n", r.Method, r.RequestURI, body)
	fmt.Fprintf(w, "Host: %s\n", r.Host)
	for name, values := range r.Header {
		fmt.Fprintf(w, "%s: %s\n", name, strings.Join(values, " | "))
	}
}

func TestRequestAsUpstreamsReceiveIt(t *testing.T) {
	s := upstreamOf(t, mirror)
	own := strings.TrimPrefix(s.URL, "http://")
	for _, c := range []struct {
		name      string
		cfg       Config
		method    string
		path      string
		fields    []string
		want, not []string
	}{
		{name: "the request as it was sent", method: "POST", path: "/a(b)/%28c%20d;e?x=1;y=%zz&z", fields: []string{"X-A", "1", "Authorization", "Basic eDp5"},
			want: []string{"POST /a(b)/%28c%20d;e?x=1;y=%zz&z body\n", "X-A: 1\n", "Authorization: Basic eDp5\n", "Via: 1.1 weir\n"}, not: []string{"Accept-Encoding", "User-Agent: \n"}},
		{name: "a path before its own", cfg: Config{Upstreams: []string{s.URL + "/base/"}}, path: "/a%3Fb", want: []string{"GET /base/a%3Fb "}},
		{name: "the path in canonical form", path: "/x/..//%61/./%7Eb%c3%a4|?", want: []string{"GET /a/~b%C3%A4%7C? "}},
		{name: "no encoded slash", path: "/a%2fb", want: []string{"400 Bad Request: the path has an encoded slash"}},
		{name: "the path as it was escaped, when asked for", cfg: Config{RawPath: true}, path: "/@a%2fb/%7e%C3%a4(%28)?q=%2f", want: []string{"GET /@a%2fb/%7e%C3%a4(%28)?q=%2f "}},
		{name: "the path as it was escaped, behind its own", cfg: Config{RawPath: true, Upstreams: []string{s.URL + "/base/"}}, path: "/@a%2fb?", want: []string{"GET /base/@a%2fb? "}},
		{name: "a canonical path, when the raw one is asked for", cfg: Config{RawPath: true}, path: "/a/b?c", want: []string{"GET /a/b?c "}},
		{name: "no raw path that it may resolve in another way", cfg: Config{RawPath: true}, path: "/a/..%2fb", want: []string{"400 Bad Request\n"}},
		{name: "no raw path with empty segments", cfg: Config{RawPath: true}, path: "//a", want: []string{"400 Bad Request\n"}},
		{name: "no hop-by-hop fields", fields: []string{"Connection", "X-Mine", "X-Mine", "1", "Keep-Alive", "5", "Te", "trailers, deflate", "Proxy-Authorization", "a", "Proxy-Connection", "keep-alive"},
			want: []string{"Te: trailers\n"}, not: []string{"X-Mine", "Keep-Alive", "Proxy-", "deflate", "\nConnection"}},
		{name: "no upgrade but to WebSocket", fields: []string{"Connection", "Upgrade, HTTP2-Settings", "Upgrade", "h2c", "HTTP2-Settings", "AAMAAABkAARAAAAAAAIAAAAA"}, not: []string{"Upgrade", "Http2-Settings"}},
		{name: "where it came from, whatever it says", fields: []string{"X-Forwarded-For", "1.2.3.4", "X-Forwarded-Proto", "https", "X_Forwarded_For", "9.9.9.9", "Forwarded", "for=1.2.3.4", "X-Real-Ip", "1.2.3.4", "X-Forwarded-Port", "1", "X-Original-URL", "1.2.3.4", "X_Rewrite_Url", "1.2.3.4", "True-Client-Ip", "1.2.3.4"},
			want: []string{"X-Forwarded-For: 127.0.0.1\n", "X-Forwarded-Proto: http\n", "X-Forwarded-Host: 127.0.0.1:"}, not: []string{"1.2.3.4", "9.9.9.9", "https", "Port"}},
		{name: "where it came from, as a trusted proxy says", cfg: Config{Trusted: []string{"127.0.0.0/8"}},
			fields: []string{"X-Forwarded-For", "1.2.3.4", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "example.org", "Forwarded", "for=1.2.3.4"},
			want:   []string{"X-Forwarded-For: 1.2.3.4, 127.0.0.1\n", "X-Forwarded-Proto: https\n", "X-Forwarded-Host: example.org\n", "\nForwarded: for=1.2.3.4\n"}},
		{name: "where it came from, as a proxy says that is not trusted", cfg: Config{Trusted: []string{"10.0.0.1"}}, fields: []string{"X-Forwarded-For", "1.2.3.4"},
			want: []string{"X-Forwarded-For: 127.0.0.1\n"}},
		{name: "the client's host", fields: []string{"Host", "example.org"}, want: []string{"Host: example.org\n"}},
		{name: "its own host", cfg: Config{Host: "upstream"}, fields: []string{"Host", "example.org"}, want: []string{"\nHost: " + own + "\n", "X-Forwarded-Host: example.org\n"}},
		{name: "another host", cfg: Config{Host: "app.internal"}, want: []string{"\nHost: app.internal\n"}},
		{name: "who the user is", cfg: Config{UserField: "X-Remote-User"}, fields: []string{"X-User", "ann", "X-Remote-User", "root", "X_remote_user", "root"}, want: []string{"X-Remote-User: ann\n"}, not: []string{"root"}},
		{name: "that there is no user", cfg: Config{UserField: "X-Remote-User"}, fields: []string{"X-Remote-User", "root"}, not: []string{"root"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.cfg.Upstreams == nil {
				c.cfg.Upstreams = []string{s.URL}
			}
			user := web.Pipe(func(c *web.Conn) {
				if u := c.RequestHeader("X-User"); u != "" {
					c.SetValue(web.User, u)
				}
			})
			bothWays(t, c.cfg, func(p web.Component) web.Component { return web.Chain(user, p) }, func(t *testing.T, url string, _ *Proxy) {
				body := ""
				if c.method == "POST" {
					body = "body"
				}
				_, got := do(t, c.method, url+c.path, body, c.fields...)
				for _, want := range c.want {
					if !strings.Contains(got, want) {
						t.Errorf("%q is not in\n%s", want, got)
					}
				}
				for _, not := range c.not {
					if strings.Contains(got, not) {
						t.Errorf("got %q, want it removed, in\n%s", not, got)
					}
				}
			})
		})
	}
}

func TestClientAddressBehindTheProxysTrustedProxies(t *testing.T) {
	p, err := prepare(Config{Upstreams: []string{"http://a"}, Trusted: []string{"10.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ remote, says, want string }{
		{"192.0.2.1:1", "1.1.1.1", "192.0.2.1"},
		{"10.0.0.1:1", "6.6.6.6, 1.1.1.1, 10.2.3.4", "1.1.1.1"},
		{"@", "1.1.1.1", "@"},
	} {
		if got := p.clientAddr(c.remote, []string{c.says}); got != c.want {
			t.Errorf("%s says %q: got %s, want %s", c.remote, c.says, got, c.want)
		}
	}
}

func TestFieldsOfTheServersTrustedProxyArePassedOn(t *testing.T) {
	p, err := prepare(Config{Upstreams: []string{"http://a"}})
	if err != nil {
		t.Fatal(err)
	}
	in := httptest.NewRequest("GET", "http://example.org/", nil)
	in.Header.Set("X-Forwarded-For", "203.0.113.5")
	in.Header.Set("X-Forwarded-Host", "shop.example")
	in.RemoteAddr = "203.0.113.5:0" // as the server has found
	in = in.WithContext(client.WithProxyAddr(in.Context(), "10.0.0.1:4711"))
	out := in.Clone(in.Context())
	x := &exchange{p: p}
	x.rewrite(&httputil.ProxyRequest{In: in, Out: out})
	if got := out.Header["X-Forwarded-For"]; len(got) != 1 || got[0] != "203.0.113.5, 10.0.0.1" {
		t.Errorf("X-Forwarded-For: got %q, want the client and then the front", got)
	}
	if got := out.Header.Get("X-Forwarded-Host"); got != "shop.example" {
		t.Errorf("X-Forwarded-Host: got %q, want the front's word", got)
	}
}

// A client can neither remove nor replace a field that an earlier component sets for upstreams.
func TestClientCannotSetOrRemoveAComponentsField(t *testing.T) {
	s := upstreamOf(t, mirror)
	says := web.Pipe(func(c *web.Conn) {
		c.SetRequestHeader("X-Role", "guest")
		c.DelRequestHeader("X-Admin")
	})
	bothWays(t, Config{Upstreams: []string{s.URL}}, func(p web.Component) web.Component { return web.Chain(says, p) }, func(t *testing.T, url string, _ *Proxy) {
		_, got := do(t, "GET", url, "", "Connection", "close, x-role, X-Other", "X-Role", "root", "X_Role", "root", "X_Admin", "root", "X-Admin", "root", "X-Other", "root", "X_Mine", "1")
		if !strings.Contains(got, "X-Role: guest\n") || strings.Contains(got, "root") || !strings.Contains(got, "X_mine: 1\n") && !strings.Contains(got, "X_Mine: 1\n") {
			t.Errorf("the upstream sees\n%swant X-Role: guest, X_Mine, and nothing else of the client's", got)
		}
	})
}

// HTTP/2 permits a query that would end the request line of HTTP/1. The upstream is not blamed.
func TestAQueryWithASpaceIsRejected(t *testing.T) {
	s := upstreamOf(t, mirror)
	for _, query := range []string{"a b", "a\tb", " HTTP/1.1\r\nX: y"} {
		p := newProxy(t, Config{Upstreams: []string{s.URL}})
		h, err := web.New(p, web.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		r.URL.RawQuery = query
		h.ServeHTTP(w, r)
		if u := p.Upstreams()[0]; w.Code != 400 || u.Requests != 0 || u.Failures != 0 {
			t.Errorf("%q: got %d, %+v, want 400 and no request", query, w.Code, u)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRequestWithoutAHostIsRejected(t *testing.T) {
	s := upstreamOf(t, mirror)
	for _, c := range []struct {
		host, want string
	}{{"", "400 Bad Request\n"}, {"app.internal", "Host: app.internal\n"}} {
		bothWays(t, Config{Upstreams: []string{s.URL}, Host: c.host}, nil, func(t *testing.T, url string, _ *Proxy) {
			for _, head := range []string{"GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n"} {
				conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
				if err != nil {
					t.Fatal(err)
				}
				io.WriteString(conn, head)
				got, err := io.ReadAll(conn)
				conn.Close()
				if err != nil || !strings.Contains(string(got), c.want) {
					t.Errorf("host = %q, %q: got %q, %v, want %q", c.host, head, got, err, c.want)
				}
			}
		})
	}
}
