package proxy

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"regexp"
	"strings"
	"testing"
)

// tells matches forwarding fields in any spelling that an upstream may accept.
var tells = regexp.MustCompile(`(?i)^(forwarded|x[-_]real[-_]ip|x[-_]forwarded[-_].*)$`)

// FuzzRewrite checks that forwarding fields contain what this proxy has seen, and nothing that a
// client wrote there.
func FuzzRewrite(f *testing.F) {
	for _, seed := range [][2]string{
		{"X-Forwarded-For", "1.2.3.4"}, {"x_forwarded_for", "1.2.3.4"}, {"Forwarded", "for=1.2.3.4"}, {"X-Real_IP", "1.2.3.4"}, {"X-Forwarded-Port", "1"},
		{"X_Remote-User", "root"}, {"Upgrade", "h2c"}, {"Connection", "X-Remote-User"}, {"X-A", "1"},
	} {
		f.Add(seed[0], seed[1])
	}
	s, err := parseConfig(Config{UserField: "X-Remote-User", Trusted: []string{"10.0.0.0/8"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		r := httptest.NewRequest("GET", "http://example.org/", nil)
		r.RemoteAddr = "192.0.2.1:1234"
		r.Header[http.CanonicalHeaderKey(name)] = []string{value}
		out := r.Clone(r.Context())
		x := &exchange{p: &Proxy{upstreams: &upstreams{settings: s}}, user: "ann"}
		x.rewrite(&httputil.ProxyRequest{In: r, Out: out})
		made := map[string]string{"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Host": "example.org", "X-Forwarded-Proto": "http", "X-Remote-User": "ann"}
		for name, want := range made {
			if got := out.Header[name]; len(got) != 1 || got[0] != want {
				t.Fatalf("%s is %q, want %q", name, got, want)
			}
		}
		for name, values := range out.Header {
			user := strings.EqualFold(strings.ReplaceAll(name, "_", "-"), "X-Remote-User")
			if made[name] == "" && (tells.MatchString(name) || user) {
				t.Fatalf("got %q: %q at the upstream, want no forwarding field of the client", name, values)
			}
		}
		if out.Header["Upgrade"] != nil && !isWebSocket(r) {
			t.Fatalf("got an upgrade to %q at the upstream, want none", out.Header["Upgrade"])
		}
	})
}
