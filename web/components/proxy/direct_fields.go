package proxy

import (
	"iter"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"weir/web"
	"weir/web/http1"
	"weir/web/internal/origin"
)

// setFields decides about the fields for upstreams.
func (d *direct) setFields() {
	in := d.request
	d.forward(&d.forwarding, in)
	d.options = connectionOptions(in.Header["Connection"])
	d.takesTrailers = slices.ContainsFunc(in.Header["Te"], func(list string) bool { return http1.HasToken([]byte(list), "trailers") })
}

// passes reports whether a field of the client is passed on.
func (d *direct) passes(name string) bool {
	return !isHopByHop(name) && name != "Expect" && d.forwarding.passes(name) && !slices.Contains(d.options, name)
}

// isHopByHop reports whether a field belongs to one connection and is not passed on (RFC 9110,
// section 7.6.1), or to the authentication of a proxy.
func isHopByHop(name string) bool {
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// connectionOptions returns the fields that a Connection field names.
func connectionOptions(lists []string) (names []string) {
	for _, list := range lists {
		for name := range strings.SplitSeq(list, ",") {
			names = append(names, textproto.CanonicalMIMEHeaderKey(strings.Trim(name, " \t")))
		}
	}
	return names
}

// target returns the request target for an upstream.
func (d *direct) target(u *upstream) string {
	if d.rawPath == "" && u.target.Path == "" {
		return d.request.URL.RequestURI()
	}
	return d.targetURL(d.request, u).RequestURI()
}

// appendHead appends the head of the request for an upstream.
func (d *direct) appendHead(b []byte, target string, u *upstream) []byte {
	r := d.request
	length := r.ContentLength
	if length == 0 && r.Method != http.MethodPost && r.Method != http.MethodPut && r.Method != http.MethodPatch {
		length = -1 // RFC 9110, section 8.6
	}
	b = http1.AppendRequestLine(b, r.Method, target, d.host(r, u))
	for name, values := range r.Header {
		if d.passes(name) {
			b = http1.AppendRequestField(b, name, values...)
		}
	}
	for _, f := range d.forwarding.fields[:d.forwarding.count] {
		if f.values != nil {
			b = http1.AppendRequestField(b, f.name, f.values...)
		} else {
			b = http1.AppendRequestField(b, f.name, f.value)
		}
	}
	if d.takesTrailers {
		b = http1.AppendRequestField(b, "Te", "trailers")
	}
	return http1.EndRequest(b, length)
}

// receivedFields iterates over the fields of a response that are passed on.
func receivedFields(all []origin.Field, namesFields bool) iter.Seq[origin.Field] {
	return func(yield func(origin.Field) bool) {
		var options []string
		if namesFields {
			options = receivedOptions(all)
		}
		for _, f := range all {
			if (f.Name == "Trailer" || !isHopByHop(f.Name)) && !slices.Contains(options, f.Name) && !yield(f) {
				return
			}
		}
	}
}

// receivedOptions returns the fields that the Connection field of a response names.
func receivedOptions(all []origin.Field) (names []string) {
	for _, f := range all {
		if f.Name == "Connection" {
			names = append(names, connectionOptions(f.Values)...)
		}
	}
	return names
}

// fieldLines iterates over names and values of valid field lines.
func fieldLines(lines string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for lines != "" {
			var line string
			line, lines, _ = strings.Cut(lines, "\r\n")
			name, value, _ := strings.Cut(line, ":")
			if !yield(textproto.CanonicalMIMEHeaderKey(name), strings.Trim(value, " \t")) {
				return
			}
		}
	}
}

// headerOf returns the fields of an informational response.
func headerOf(all []origin.Field, namesFields bool) http.Header {
	h := make(http.Header)
	for f := range receivedFields(all, namesFields) {
		h[f.Name] = append(h[f.Name], f.Values...)
	}
	return h
}

// setResponseFields sets the upstream's fields in place of those that earlier components have set.
// Of Vary and Set-Cookie both apply.
func setResponseFields(c *web.Conn, all []origin.Field, namesFields bool) {
	var room [16]string
	names := room[:0]
	for f := range receivedFields(all, namesFields) {
		switch {
		case f.Name == "Content-Length": // the same one may occur again
			c.SetHeaders(f.Name, f.Values)
		case f.Name == "Vary" || f.Name == "Set-Cookie" || slices.Contains(names, f.Name):
			c.AddHeader(f.Name, f.Values[0])
		default:
			names = append(names, f.Name)
			c.SetHeaders(f.Name, f.Values)
		}
	}
}
