package proxy

import (
	"net/http"
	"net/http/httputil"
	"strings"

	"weir/web/internal/client"
)

// front is the address of the trusted front that passed a request on, "" when none did: the server
// has seen it, or it is one of the component's own.
func (p *Proxy) front(r *http.Request) string {
	if peer := client.ProxyAddr(r.Context()); peer != "" {
		return peer
	}
	if a, ok := client.Parse(r.RemoteAddr); ok && p.trusted.Contains(a) {
		return r.RemoteAddr
	}
	return ""
}

// client is the address of the client: of the connection, or as a front of the component's own
// names it.
func (p *Proxy) client(remote string, forwardedFor []string) string {
	if a, ok := client.Parse(remote); ok {
		return p.trusted.Client(a, forwardedFor).String()
	}
	return remote
}

// hyphens is how some upstreams read a field's name.
func hyphens(name string) string { return strings.ReplaceAll(name, "_", "-") }

// rewrite makes the request that upstreams get, apart from where it goes to.
func (x *exchange) rewrite(r *httputil.ProxyRequest) {
	in, out := r.In.Header, r.Out.Header
	front := x.p.front(r.In)
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
	if believed { // it is the front that passed the request on
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
