package site

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/web"
)

// handling runs a site until the test ends.
func handling(t *testing.T, text string) *web.Handler {
	t.Helper()
	s, err := Parse("site.hcl", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := web.New(s.Services[0].Pipe, web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(h.Close(), s.Close()); err != nil {
			t.Errorf("Close: got %v, want nil", err)
		}
	})
	return h
}

// asked is a request to a site that answers 403 in a when with these attributes, and otherwise 404.
type asked struct {
	attributes, host, target string
	want                     int // the status
}

func (a asked) check(t *testing.T) {
	t.Helper()
	r := httptest.NewRequest("GET", a.target, nil)
	r.Host = a.host
	w := httptest.NewRecorder()
	if handling(t, "when {\n"+a.attributes+"\n status { code = 403 }\n}").ServeHTTP(w, r); w.Code != a.want {
		t.Errorf("%s: http://%s%s: got %d, want %d", a.attributes, a.host, a.target, w.Code, a.want)
	}
}

func TestPathParametersBypassNoCondition(t *testing.T) {
	const admin, public = `path = "/admin/**"`, "path = \"/public/**\"\nnot = true"
	for _, c := range []asked{
		{admin, "a.org", "/admin;x", 400},
		{admin, "a.org", "/admin;x/y", 400},
		{admin, "a.org", "/;x/admin/y", 400},
		{admin, "a.org", "/admin/x;y", 403},
		{admin, "a.org", "/other;x", 404},
		{public, "a.org", "/public;x/y", 400},
		{`path = "/*.php"`, "a.org", "/a.php;x", 400},
		{`path = "/odd;x"`, "a.org", "/odd;x", 403},
	} {
		c.check(t)
	}
}

func TestAConditionHoldsForEverySpelling(t *testing.T) {
	const admin, host = `path = "/admin/**"`, `host = "admin.example.org"`
	for _, c := range []asked{
		{admin, "a.org", "/admin/x", 403},
		{admin, "a.org", "/admin", 403},
		{admin, "a.org", "/admin/", 403},
		{admin, "a.org", "//admin/x", 403},
		{admin, "a.org", "/./admin/x", 403},
		{admin, "a.org", "/x/../admin/x", 403},
		{admin, "a.org", "/%61dmin/x", 403},
		{admin, "a.org", "/%2e/admin", 403},
		{admin, "a.org", "/x/%2E%2e//admin", 403},
		{admin, "a.org", "/administrator", 404},
		{admin, "a.org", "/x/admin", 404},
		{admin, "a.org", "/admin/..", 404},
		{admin, "a.org", "/Admin", 404},
		{`path = "/**"`, "a.org", "/", 403},
		{`path = "/**"`, "a.org", "/x/y", 403},
		{`path = "/a b/**"`, "a.org", "/a%20b/c", 403},
		{`path = "/*.html"`, "a.org", "/a.html", 403},
		{`path = "/*.html"`, "a.org", "//a.%68tml", 403},
		{`path = "/*.html"`, "a.org", "/a/b.html", 404},
		{`path = "/admin"`, "a.org", "/admin", 403},
		{`path = "/admin"`, "a.org", "/admin/", 404},

		{host, "Admin.Example.ORG", "/", 403},
		{host, "admin.example.org.:8080", "/", 403},
		{host, "admin.example.org:", "/", 403},
		{`host = "Admin.Example.Org."`, "admin.example.org", "/", 403},
		{`host = "[::1]"`, "[0:0::1]:80", "/", 403},
		{host, "example.org", "/", 404},
		{host, "", "/", 404},
	} {
		c.check(t)
	}
}

func TestAnAddressConditionHoldsForEveryFormOfAnAddress(t *testing.T) {
	h := handling(t, "when {\nfrom = [\"fe80::/10\", \"192.0.2.0/24\"]\n status { code = 403 }\n}")
	for from, want := range map[string]int{"[fe80::1%eth0]:1": 403, "[fe80::1]:1": 403, "192.0.2.1:1": 403, "[::ffff:192.0.2.1]:1": 403, "198.51.100.1:1": 404, "@": 404} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("from %s: got %d, want %d", from, w.Code, want)
		}
	}
}

func TestUnsatisfiableConditionIsRejected(t *testing.T) {
	for attribute, want := range map[string]string{
		`path = "admin/**"`: "can never match", `path = "//admin/**"`: "can never match", `path = "/a/../b"`: "can never match", `path = "/./**"`: "can never match",
		`path = "/a%20b/**"`: "can never match", `path = "/adm%69n"`: "can never match", `host = "example.org:80"`: "is not valid", `host = "a/b"`: "is not valid", `host = "*.org"`: "is not valid",
		`header = "Host: a.org"`: "can never match", `from = ["::ffff:10.0.0.0/104"]`: "write a prefix",
	} {
		s, err := Parse("site.hcl", []byte("when {\n"+attribute+"\n security {}\n}"), nil)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", attribute, err, want)
		}
	}
}

func TestCacheDoesNotStoreConditionalResponses(t *testing.T) {
	for name, condition := range map[string]string{"an address": `from = ["192.0.2.1/32"]`, "a field": `header = "X-Key: sesame"`} {
		text := `cache {
			when {
				` + condition + `
				not = true
				status { code = 403 }
			}
			static { text = "secret" }
			headers { set = { "Cache-Control" = "public, max-age=100" } }
		}`
		h := handling(t, text)
		for _, c := range []struct {
			from, key string
			want      bool
		}{{"192.0.2.1:1", "sesame", true}, {"192.0.2.2:1", "", false}} {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = c.from
			r.Header.Set("X-Key", c.key)
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); strings.Contains(w.Body.String(), "secret") != c.want {
				t.Errorf("%s: %+v: got %d %q (%s), want the secret exactly with the key", name, c, w.Code, w.Body, w.Header().Get("Cache-Status"))
			}
		}
	}
}
