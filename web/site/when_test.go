package site

import (
	"net/http/httptest"
	"strings"
	"testing"

	"weir/web"
)

// takes reports whether a request takes a when with these attributes.
func takes(t *testing.T, attributes, method, host, target string) bool {
	t.Helper()
	return statusBehind(t, attributes, method, host, target) == 403
}

// statusBehind is the status of a request to a site that has 403 in a when with these attributes, and else nothing.
func statusBehind(t *testing.T, attributes, method, host, target string) int {
	t.Helper()
	s, err := Parse("site.hcl", []byte("when {\n"+attributes+"\n status { code = 403 }\n}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h, err := web.New(s.Pipe, web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	r := httptest.NewRequest(method, target, nil)
	r.Host = host
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

func TestParametersLeadPastNoCondition(t *testing.T) {
	for _, c := range []struct {
		attributes, target string
		want               int
	}{
		{`path = "/admin/**"`, "/admin;x", 400}, {`path = "/admin/**"`, "/admin;x/y", 400}, {`path = "/admin/**"`, "/;x/admin/y", 400}, {`path = "/*.php"`, "/a.php;x", 400},
		{"path = \"/public/**\"\nnot = true", "/public;x/y", 400}, {`path = "/admin/**"`, "/admin/x;y", 403}, {`path = "/admin/**"`, "/other;x", 404}, {`path = "/odd;x"`, "/odd;x", 403},
	} {
		if got := statusBehind(t, c.attributes, "GET", "a.org", c.target); got != c.want {
			t.Errorf("%s, %s: got %d, want %d", c.attributes, c.target, got, c.want)
		}
	}
}

func TestAPathConditionHoldsForEverySpelling(t *testing.T) {
	for _, c := range []struct {
		pattern, target string
		want            bool
	}{
		{"/admin/**", "/admin/x", true}, {"/admin/**", "/admin", true}, {"/admin/**", "/admin/", true}, {"/admin/**", "//admin/x", true}, {"/admin/**", "/./admin/x", true},
		{"/admin/**", "/x/../admin/x", true}, {"/admin/**", "/%61dmin/x", true}, {"/admin/**", "/%2e/admin", true}, {"/admin/**", "/x/%2E%2e//admin", true},
		{"/admin/**", "/administrator", false}, {"/admin/**", "/x/admin", false}, {"/admin/**", "/admin/..", false}, {"/admin/**", "/Admin", false},
		{"/**", "/", true}, {"/**", "/x/y", true}, {"/a b/**", "/a%20b/c", true},
		{"/*.html", "/a.html", true}, {"/*.html", "//a.%68tml", true}, {"/*.html", "/a/b.html", false}, {"/admin", "/admin", true}, {"/admin", "/admin/", false},
	} {
		if got := takes(t, `path = "`+c.pattern+`"`, "GET", "a.org", c.target); got != c.want {
			t.Errorf("path = %q, %s: got %v, want %v", c.pattern, c.target, got, c.want)
		}
	}
}

func TestAHostConditionHoldsForEverySpelling(t *testing.T) {
	for _, c := range []struct {
		condition, host string
		want            bool
	}{
		{"admin.example.org", "Admin.Example.ORG", true}, {"Admin.Example.Org.", "admin.example.org", true}, {"admin.example.org", "admin.example.org.:8080", true}, {"admin.example.org", "admin.example.org:", true},
		{"[::1]", "[0:0::1]:80", true}, {"admin.example.org", "example.org", false}, {"admin.example.org", "", false},
	} {
		if got := takes(t, `host = "`+c.condition+`"`, "GET", c.host, "/"); got != c.want {
			t.Errorf("host = %q, Host: %s: got %v, want %v", c.condition, c.host, got, c.want)
		}
	}
}

func TestAnAddressConditionHoldsForEveryFormOfAnAddress(t *testing.T) {
	s, err := Parse("site.hcl", []byte("when {\nfrom = [\"fe80::/10\", \"192.0.2.0/24\"]\n status { code = 403 }\n}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h, err := web.New(s.Pipe, web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for from, want := range map[string]int{"[fe80::1%eth0]:1": 403, "[fe80::1]:1": 403, "192.0.2.1:1": 403, "[::ffff:192.0.2.1]:1": 403, "198.51.100.1:1": 404, "@": 404} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("from %s: got %d, want %d", from, w.Code, want)
		}
	}
}

func TestAConditionThatNothingCanMeetIsRefused(t *testing.T) {
	for attribute, want := range map[string]string{
		`path = "admin/**"`: "can never match", `path = "//admin/**"`: "can never match", `path = "/a/../b"`: "can never match", `path = "/./**"`: "can never match",
		`path = "/a%20b/**"`: "can never match", `path = "/adm%69n"`: "can never match", `host = "example.org:80"`: "is no host", `host = "a/b"`: "is no host", `host = "*.org"`: "is no host",
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

func TestACacheDoesNotSpreadWhatAConditionLetThrough(t *testing.T) {
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
		s, err := Parse("site.hcl", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		h, err := web.New(s.Pipe, web.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		for _, c := range []struct {
			from, key string
			want      bool
		}{{"192.0.2.1:1", "sesame", true}, {"192.0.2.2:1", "", false}} {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = c.from
			r.Header.Set("X-Key", c.key)
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); strings.Contains(w.Body.String(), "secret") != c.want {
				t.Errorf("%s: %+v: got %d %q (%s)", name, c, w.Code, w.Body, w.Header().Get("Cache-Status"))
			}
		}
	}
}
