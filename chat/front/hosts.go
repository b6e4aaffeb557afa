package front

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// OwnHosts serves a request only if its Host is a name that own reports to be the server's,
// localhost, or an IP address; others are answered 421. So a page whose own name was made to lead
// to this server (DNS rebinding) reaches nothing: a browser sends that name as the Host. Key is the
// configuration's key that has the names, for the refusal. A nil own knows no name.
//
// Own is called with the name in its canonical form, by several goroutines at once.
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
		// no browser: those of today name the host always
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

// withoutPort is a Host header's value without its port. It is false if what follows the colon is
// no number.
func withoutPort(host string) (string, bool) {
	i := strings.LastIndexByte(host, ':')
	if i < 0 || strings.HasSuffix(host, "]") {
		return host, true
	}
	return host[:i], strings.Trim(host[i+1:], "0123456789") == ""
}

// CanonicalHost returns the form of a host name that names are compared in: in lower case, without
// a dot at the end. It is false for what cannot be a host name: other characters than letters,
// digits, hyphens, underscores and dots, or an empty label. An international name is written as
// browsers send it, in the form that begins with xn--.
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
