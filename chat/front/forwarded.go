package front

import (
	"crypto/tls"
	"net/http"
	"net/netip"
	"strings"
)

// Forwarded has a handler see who is behind a proxy that speaks HTTP: what a trusted proxy says by X-Forwarded-For is the request's RemoteAddr, and
// what it took by TLS, as X-Forwarded-Proto says, has a TLS, of which nothing else is known. Of several addresses the last counts that is no
// proxy's: those before it are what the client says.
func (p Proxies) Forwarded(h http.Handler) http.Handler {
	if len(p) == 0 {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || !p.trust(from.Addr()) {
			h.ServeHTTP(w, r)
			return
		}
		client := r.WithContext(r.Context()) // a copy: the server's stays as it is
		if a := p.behind(r.Header["X-Forwarded-For"]); a.IsValid() {
			client.RemoteAddr = netip.AddrPortFrom(a, 0).String()
		}
		if r.TLS == nil && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
			client.TLS = new(tls.ConnectionState)
		}
		h.ServeHTTP(w, client)
	})
}

// behind is who is behind the proxies, zero if they do not say.
func (p Proxies) behind(headers []string) (client netip.Addr) {
	all := strings.Split(strings.Join(headers, ","), ",")
	for i := len(all) - 1; i >= 0; i-- {
		text := strings.TrimSpace(all[i])
		a, err := netip.ParseAddr(strings.Trim(text, "[]"))
		if with, werr := netip.ParseAddrPort(text); werr == nil {
			a, err = with.Addr(), nil
		}
		if err != nil {
			return client
		}
		if client = a.Unmap().WithZone(""); !p.trust(client) {
			return client
		}
	}
	return client
}
