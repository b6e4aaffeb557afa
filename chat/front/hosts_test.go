package front

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func ownName(name string) bool { return name == "chat.example.org" || name == "xn--dmin-moa0i.example" }

func TestOnlyOwnNamesLocalhostAndAddressesAreServed(t *testing.T) {
	served := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	guard := OwnHosts(ownName, "hosts", served)
	for _, c := range []struct {
		host string
		want int
	}{
		{"chat.example.org", 204}, {"CHAT.Example.ORG", 204}, {"chat.example.org.", 204}, {"chat.example.org:8080", 204}, {"Chat.example.org.:443", 204},
		{"chat.example.org:", 204}, {"xn--dmin-moa0i.example", 204}, {"XN--DMIN-moa0i.example:80", 204},
		{"localhost", 204}, {"LocalHost.:8080", 204},
		{"127.0.0.1", 204}, {"127.0.0.1:8080", 204}, {"127.0.0.1.:8080", 204}, {"192.0.2.7", 204}, {"[::1]", 204}, {"[::1]:8080", 204}, {"[2001:db8::7]:1", 204},
		{"[fe80::1%25eth0]:80", 204}, {"[::ffff:127.0.0.1]", 204},

		{"evil", 421}, {"evil:8080", 421}, {"evil.", 421}, {"example.org", 421}, {"a.chat.example.org", 421}, {"chat.example.org.evil", 421}, {"chat.example.org..", 421},
		{"localhost.evil", 421}, {"evil.localhost", 421}, {"127.0.0.1.evil", 421}, {"127.0.0.1.nip.io", 421}, {"0x7f000001", 421}, {"2130706433", 421}, {"127.1", 421},
		{"::1", 421}, {"[::1", 421}, {"::1]", 421}, {"[localhost]", 421}, {"[evil]:80", 421}, {"[127.0.0.1]", 421}, {"localhost:evil", 421}, {"chat.example.org:80:80", 421},
		{"chat.example.org@evil", 421}, {"evil@chat.example.org", 421}, {"chat.example.org/", 421}, {"chat%2eexample.org", 421}, {" chat.example.org", 421}, {"ｃhat.example.org", 421},
		{"", 421}, {":8080", 421}, {".", 421},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = c.host
		w := httptest.NewRecorder()
		guard.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("Host %q: got status %d, want %d", c.host, w.Code, c.want)
		}
		if w.Code != 204 && !strings.Contains(w.Body.String(), "hosts") {
			t.Errorf("Host %q: got the error %q, want one that names the configuration key", c.host, w.Body)
		}
	}
}

// A balancer's health check may speak HTTP/1.0 without a Host; no browser does.
func TestARequestOfHTTP10MayHaveNoHost(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	r.Host, r.Proto, r.ProtoMinor = "", "HTTP/1.0", 0
	w := httptest.NewRecorder()
	OwnHosts(nil, "hosts", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
	if w.Code != 200 {
		t.Errorf("HTTP/1.0 without Host: got status %d, want 200", w.Code)
	}
}

func TestCanonicalHostAcceptsOnlyHostNames(t *testing.T) {
	for text, want := range map[string]string{"Chat.Example.ORG.": "chat.example.org", "a-b_c.d": "a-b_c.d", "*.example.org": "", "a b": "", "a..b": "", "a:80": "", "é.example": "", "\u212aelvin": "", "": ""} {
		if got, ok := CanonicalHost(text); got != want || ok != (want != "") {
			t.Errorf("CanonicalHost(%q): got %q, %v; want %q, %v", text, got, ok, want, want != "")
		}
	}
}
