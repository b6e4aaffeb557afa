package proxy

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strings"
)

// trusted are the networks of proxies whose word counts.
type trusted []netip.Prefix

func readTrusted(texts []string) (trusted, error) {
	var t trusted
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, isAddr := netip.ParseAddr(text)
			if isAddr != nil {
				return nil, fmt.Errorf("proxy: trusted has %q, which is neither an address nor a prefix: write one such as \"10.0.0.0/8\"", text)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		t = append(t, p.Masked())
	}
	return t, nil
}

// has says whether an address is a trusted proxy's.
func (t trusted) has(addr string) bool {
	a, err := netip.ParseAddr(addr)
	if err != nil {
		return false
	}
	a = a.Unmap().WithZone("")
	for _, p := range t {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// client is the address of the client: of who has connected, or the last in X-Forwarded-For that is no trusted proxy's.
func (t trusted) client(remote string, forwardedFor []string) string {
	addr := hostOf(remote)
	hops := strings.Split(strings.Join(forwardedFor, ","), ",")
	for t.has(addr) && len(hops) > 0 {
		said := strings.TrimSpace(hops[len(hops)-1])
		if _, err := netip.ParseAddr(said); err != nil {
			break
		}
		addr, hops = said, hops[:len(hops)-1]
	}
	return addr
}

func hostOf(hostPort string) string {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		return hostPort
	}
	return host
}

// hyphens is how some upstreams read a field's name.
func hyphens(name string) string { return strings.ReplaceAll(name, "_", "-") }

// told says whether a field is one by which proxies tell where a request came from.
func told(name string) bool {
	name = strings.ToLower(hyphens(name))
	return name == "forwarded" || name == "x-real-ip" || strings.HasPrefix(name, "x-forwarded-")
}

// rewrite makes the request that upstreams get, apart from where it goes to.
func (x *exchange) rewrite(r *httputil.ProxyRequest) {
	in, out := r.In.Header, r.Out.Header
	believed := x.p.trusted.has(hostOf(r.In.RemoteAddr))
	field := x.p.UserField
	for name := range out {
		if told(name) && !believed || field != "" && strings.EqualFold(hyphens(name), hyphens(field)) {
			delete(out, name)
		}
	}
	if believed {
		for _, name := range [...]string{"Forwarded", "X-Forwarded-For"} {
			if v := in[name]; v != nil {
				out[name] = v
			}
		}
	}
	r.SetXForwarded()
	if believed {
		for _, name := range [...]string{"X-Forwarded-Host", "X-Forwarded-Proto"} {
			if v := in[name]; v != nil {
				out[name] = v
			}
		}
	}
	if field != "" && x.user != "" {
		out.Set(field, x.user)
	}
	if !webSocket(r.In) {
		out.Del("Connection")
		out.Del("Upgrade")
	}
	out.Add("Via", strings.TrimPrefix(r.In.Proto, "HTTP/")+" weir")
	r.Out.URL.RawQuery = r.In.URL.RawQuery // as it came, though it be no form
}

// webSocket says whether a request wants to become a WebSocket (RFC 6455 section 4.1).
func webSocket(r *http.Request) bool {
	return r.Method == http.MethodGet && r.ContentLength == 0 && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}
