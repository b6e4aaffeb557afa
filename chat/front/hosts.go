package front

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// OwnHosts serves a request only if its Host is an IP address, localhost, or a name for which own
// returns true. Other requests get 421 (Misdirected Request). This prevents DNS rebinding: a page
// whose own name resolves to this server's address is rejected, because the browser sends that name
// as the Host. The response names key, the configuration key of the names. A nil own accepts no
// name.
//
// OwnHosts calls own with the name in canonical form, from several goroutines at once.
func OwnHosts(own func(name string) bool, key string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answersTo(r, own) {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusMisdirectedRequest)
		_, _ = fmt.Fprintf(w, "The name %q is not one of this server's. If it is yours, add it to %s in the configuration of weir chat.\n", r.Host, key)
	})
}

func answersTo(r *http.Request, own func(name string) bool) bool {
	if r.Host == "" {
		// not a browser: HTTP/1.1 requires the header
		return r.ProtoMajor == 1 && r.ProtoMinor == 0
	}
	host, ok := withoutPort(r.Host)
	if !ok {
		return false
	}
	if inside, ok := strings.CutPrefix(host, "["); ok {
		inside, closed := strings.CutSuffix(inside, "]")
		a, err := netip.ParseAddr(inside)
		return closed && err == nil && a.Is6()
	}
	name, ok := CanonicalHost(host)
	if !ok {
		return false
	}
	if a, err := netip.ParseAddr(name); err == nil {
		return a.Is4()
	}
	return name == "localhost" || own != nil && own(name)
}

// withoutPort returns a Host header's value without its port, which may be empty. ok is false if
// the part behind the colon has other characters than digits.
func withoutPort(host string) (string, bool) {
	i := strings.LastIndexByte(host, ':')
	if i < 0 || strings.HasSuffix(host, "]") {
		return host, true
	}
	return host[:i], strings.Trim(host[i+1:], "0123456789") == ""
}

// CanonicalHost returns a host name in the form for comparison: lower case, without a final dot. ok
// is false if it cannot be a host name: it contains other characters than letters, digits, hyphens,
// underscores and dots, or has an empty label. An international name must be in the form that
// browsers send (xn--…).
func CanonicalHost(name string) (string, bool) {
	name = strings.TrimSuffix(name, ".")
	if name == "" || len(name) > 253 || strings.Contains("."+name+".", "..") {
		return "", false
	}
	lower := []byte(name)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] += 'a' - 'A'
		} else if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return "", false
		}
	}
	return string(lower), true
}
