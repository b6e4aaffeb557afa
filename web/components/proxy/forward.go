package proxy

import (
	"net/http"
	"net/http/httputil"
	"strings"

	"weir/web/internal/client"
)

// trustedProxy returns the address of the trusted proxy that passed a request on, or "". The server
// or the component's own configuration trusts it.
func (p *Proxy) trustedProxy(r *http.Request) string {
	if peer := client.ProxyAddr(r.Context()); peer != "" {
		return peer
	}
	if len(p.trusted) == 0 {
		return ""
	}
	if a, ok := client.Parse(r.RemoteAddr); ok && p.trusted.Contains(a) {
		return r.RemoteAddr
	}
	return ""
}

// clientAddr returns the address of the client: of the connection, or as a proxy that the component
// trusts reports it.
func (p *Proxy) clientAddr(remote string, forwardedFor []string) string {
	if a, ok := client.Parse(remote); ok {
		return p.trusted.Client(a, forwardedFor).String()
	}
	return remote
}

// hyphens returns a field name as those upstreams read it that treat _ and - alike.
func hyphens(name string) string { return strings.ReplaceAll(name, "_", "-") }

// rewrite sets the fields of the request for upstreams; try sets its address.
func (x *exchange) rewrite(r *httputil.ProxyRequest) {
	in, out := r.In.Header, r.Out.Header
	front := x.p.trustedProxy(r.In)
	believed := front != ""
	field := x.p.UserField
	for name := range out {
		if client.IsForwardingField(name) && !believed || field != "" && strings.EqualFold(hyphens(name), hyphens(field)) {
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
	if believed { // the remote address becomes that of the proxy
		from := *r.In
		from.RemoteAddr, r.In = front, &from
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
	if !isWebSocket(r.In) {
		out.Del("Connection")
		out.Del("Upgrade")
	}
	out.Add("Via", strings.TrimPrefix(r.In.Proto, "HTTP/")+" weir")
	r.Out.URL.RawQuery = r.In.URL.RawQuery // unchanged, even if it is not a valid form
}

// isWebSocket reports whether a request is a WebSocket handshake (RFC 6455, section 4.1).
func isWebSocket(r *http.Request) bool {
	return r.Method == http.MethodGet && r.ContentLength == 0 && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}
