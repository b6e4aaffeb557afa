package proxy

import (
	"net"
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

// forwarding decides which fields of a client's request are passed on, and has those that the proxy
// sets.
type forwarding struct {
	isTrusted bool   // a trusted proxy has sent the request
	userField string // "": none
	fields    [6]forwardedField
	count     int // of fields
}

// forwardedField is a field that the proxy sets for upstreams.
type forwardedField struct {
	name   string
	values []string // nil: value is the only one
	value  string
}

// forward prepares f for a request.
func (x *exchange) forward(f *forwarding, in *http.Request) {
	front := x.p.trustedProxy(in)
	f.isTrusted, f.userField = front != "", x.p.UserField
	peer := in.RemoteAddr
	if f.isTrusted {
		peer = front
		f.setFrom(in.Header, "Forwarded", "")
	}
	if addr, _, err := net.SplitHostPort(peer); err == nil {
		if before := in.Header["X-Forwarded-For"]; f.isTrusted && len(before) > 0 {
			addr = strings.Join(before, ", ") + ", " + addr
		}
		f.set("X-Forwarded-For", addr)
	}
	proto := "http"
	if in.TLS != nil {
		proto = "https"
	}
	f.setFrom(in.Header, "X-Forwarded-Host", in.Host)
	f.setFrom(in.Header, "X-Forwarded-Proto", proto)
	if f.userField != "" && x.user != "" {
		f.set(http.CanonicalHeaderKey(f.userField), x.user)
	}
	f.set("Via", strings.TrimPrefix(in.Proto, "HTTP/")+" weir")
}

// set adds a field.
func (f *forwarding) set(name, value string) {
	f.fields[f.count] = forwardedField{name: name, value: value}
	f.count++
}

// setFrom adds a field as a trusted proxy has sent it, or, without that, with the value, "": none.
func (f *forwarding) setFrom(in http.Header, name, value string) {
	if values := in[name]; f.isTrusted && values != nil {
		f.fields[f.count] = forwardedField{name: name, values: values}
		f.count++
	} else if value != "" {
		f.set(name, value)
	}
}

// passes reports whether the client's own field may be passed on.
func (f *forwarding) passes(name string) bool {
	switch name {
	case "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto":
		return false
	}
	return (f.isTrusted || !client.IsForwardingField(name)) && (f.userField == "" || !strings.EqualFold(hyphens(name), hyphens(f.userField)))
}

// rewrite sets the fields of the request for upstreams; try sets its address.
func (x *exchange) rewrite(r *httputil.ProxyRequest) {
	var f forwarding
	x.forward(&f, r.In)
	out := r.Out.Header
	for name := range out {
		if !f.passes(name) {
			delete(out, name)
		}
	}
	for _, field := range f.fields[:f.count] {
		if field.values == nil {
			field.values = []string{field.value}
		}
		if field.name == "Via" {
			field.values = append(out["Via"], field.values...)
		}
		out[field.name] = field.values
	}
	if !isWebSocket(r.In) {
		out.Del("Connection")
		out.Del("Upgrade")
	}
	r.Out.URL.RawQuery = r.In.URL.RawQuery // unchanged, even if it is not a valid form
}

// isWebSocket reports whether a request is a WebSocket handshake (RFC 6455, section 4.1).
func isWebSocket(r *http.Request) bool {
	return r.Method == http.MethodGet && r.ContentLength == 0 && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}
