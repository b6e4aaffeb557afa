package proxy

import (
	"iter"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"slices"
	"strings"

	"weir/web"
	"weir/web/http1"
)

// setFields sets the fields for upstreams.
func (d *direct) setFields() {
	in := d.request
	d.fields = in.Header.Clone()
	for _, name := range connectionOptions(in.Header["Connection"]) {
		delete(d.fields, name)
	}
	for name := range d.fields {
		switch {
		case isHopByHop(name):
			delete(d.fields, name)
		case name == "Forwarded" || name == "X-Forwarded-For" || name == "X-Forwarded-Host" || name == "X-Forwarded-Proto" || name == "Expect":
			delete(d.fields, name)
		}
	}
	if slices.ContainsFunc(in.Header["Te"], func(list string) bool { return http1.HasToken([]byte(list), "trailers") }) {
		d.fields["Te"] = []string{"trailers"}
	}
	at := *in.URL
	d.rewrite(&httputil.ProxyRequest{In: in, Out: &http.Request{URL: &at, Header: d.fields}})
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
	return http1.AppendRequest(b, r.Method, target, d.host(r, u), d.fields, length)
}

// receivedFields iterates over the fields of a response that are passed on, by canonical names.
func receivedFields(r *http1.Received) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		text := string(r.Fields)
		var options []string
		if r.NamesFields {
			options = receivedOptions(text)
		}
		for name, value := range fieldLines(text) {
			if (name == "Trailer" || !isHopByHop(name)) && !slices.Contains(options, name) && !yield(name, value) {
				return
			}
		}
	}
}

// receivedOptions returns the fields that the Connection field of a response names.
func receivedOptions(lines string) (names []string) {
	for name, value := range fieldLines(lines) {
		if name == "Connection" {
			names = append(names, connectionOptions([]string{value})...)
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
func headerOf(r *http1.Received) http.Header {
	h := make(http.Header)
	for name, value := range receivedFields(r) {
		h[name] = append(h[name], value)
	}
	return h
}

// setResponseFields sets the upstream's fields in place of those that earlier components have set.
// Of Vary and Set-Cookie both apply.
func setResponseFields(c *web.Conn, r *http1.Received) {
	all := make([]string, 0, 16) // the values, which share their memory
	names := make([]string, 0, 16)
	for name, value := range receivedFields(r) {
		switch {
		case name == "Content-Length": // the same one may occur again
			c.SetHeader(name, value)
		case name == "Vary" || name == "Set-Cookie" || slices.Contains(names, name):
			c.AddHeader(name, value)
		default:
			names = append(names, name)
			all = append(all, value)
			c.SetHeaders(name, all[len(all)-1:len(all):len(all)])
		}
	}
}
