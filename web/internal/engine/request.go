package engine

import (
	"bytes"
	"errors"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"weir/web/http1"
)

// parsedHead is a head with what was made of it.
type parsedHead struct {
	bytes    []byte // empty: none
	options  http1.Options
	request  http1.Request // slices of bytes
	template http.Request  // without what depends on the connection
	repeats  bool          // a request without content: an equal head needs no scan
}

// forget makes sure that no later head is compared with this one.
func (h *parsedHead) forget() { h.bytes, h.repeats = h.bytes[:0], false }

// makeRequest sets x.request for a head. If the head is the same as the last one, and the last
// request is not in other hands, it is used again.
func (x *exchange) makeRequest(head []byte) error {
	r, ok := x.conn.server.config.Handler.(Reuser)
	reusing := ok && r.ReusesExchanges()
	x.detached = !reusing
	same := x.sameHead || bytes.Equal(head, x.head.bytes)
	if !same {
		if err := x.head.parse(head); err != nil {
			x.head.forget()
			return err
		}
		x.head.repeats = x.head.options.Length == 0 && (x.head.template.Method == http.MethodGet || x.head.template.Method == http.MethodHead)
	}
	if x.context == nil || x.context.isShared() {
		x.context, same = &requestContext{}, false
	}
	x.context.start(x, x.head.options.Length == 0)
	if !same {
		x.request = x.head.template.WithContext(x.context)
	}
	x.request.RemoteAddr, x.request.TLS, x.request.Trailer = x.conn.remoteAddr(), x.conn.tls, x.head.template.Trailer
	x.request.Body, x.body = http.NoBody, noContent
	if x.head.options.Length != 0 {
		x.body = newBody(x, x.head.options)
		x.request.Body = x.body
	}
	return nil
}

func (h *parsedHead) parse(head []byte) error {
	h.bytes = append(h.bytes[:0], head...)
	h.request = http1.ParseRequest(h.bytes)
	h.options = http1.ParseOptions(h.request)
	u, target, err := parseTarget(h.request)
	if err != nil {
		return err
	}
	h.template = http.Request{
		Method: methodName(h.request.Method), URL: u, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: h.request.Minor,
		ContentLength: h.options.Length, Close: h.options.Close, RequestURI: target,
	}
	if h.request.Minor == 0 {
		h.template.Proto = "HTTP/1.0"
	}
	return h.parseFields()
}

// parseFields sets the fields of the template as package http does: Host, Transfer-Encoding and, if
// the content is chunked, Trailer are not in Header.
func (h *parsedHead) parseFields() error {
	fields, r := make(http.Header), &h.template
	for name, value := range http1.FieldLines(h.request.Fields) {
		key := textproto.CanonicalMIMEHeaderKey(string(name))
		fields[key] = append(fields[key], string(value))
	}
	if r.Host = r.URL.Host; r.Host == "" {
		r.Host = fields.Get("Host")
	}
	delete(fields, "Host")
	if fields["Pragma"] != nil && fields["Pragma"][0] == "no-cache" && fields["Cache-Control"] == nil {
		fields["Cache-Control"] = []string{"no-cache"}
	}
	if h.options.Length < 0 {
		r.TransferEncoding = []string{"chunked"}
		delete(fields, "Transfer-Encoding")
		r.Trailer = declaredTrailers(fields["Trailer"])
		delete(fields, "Trailer")
		for _, name := range [...]string{"Transfer-Encoding", "Trailer", "Content-Length"} {
			if _, ok := r.Trailer[name]; ok {
				return errTrailer
			}
		}
	}
	r.Header = fields
	return nil
}

// errTrailer rejects a request that announces a field that frames messages as a trailer: "A sender
// MUST NOT generate" such a trailer (RFC 9110, section 6.5.1).
var errTrailer = errors.New("the Trailer field names a field that frames messages")

// declaredTrailers returns the names of trailer fields that a request announces (RFC 9110, section
// 6.6.2), without values.
func declaredTrailers(lists []string) http.Header {
	var all http.Header
	for _, list := range lists {
		for name := range strings.SplitSeq(list, ",") {
			if name = textproto.CanonicalMIMEHeaderKey(textproto.TrimString(name)); name != "" {
				if all == nil {
					all = make(http.Header)
				}
				all[name] = nil
			}
		}
	}
	return all
}

// methodName returns a method as a string, without an allocation for the usual ones.
func methodName(b []byte) string {
	switch string(b) {
	case http.MethodGet:
		return http.MethodGet
	case http.MethodHead:
		return http.MethodHead
	case http.MethodPost:
		return http.MethodPost
	}
	return string(b)
}

// parseTarget parses a request target (RFC 9112, section 3.2) as package http does: the authority
// form of CONNECT gives a URL with a host alone.
func parseTarget(r http1.Request) (u *url.URL, target string, err error) {
	target = string(r.Target)
	if isPlain(target) {
		path, query, _ := strings.Cut(target, "?")
		return &url.URL{Path: path, RawQuery: query}, target, nil
	}
	authority := string(r.Method) == http.MethodConnect && !strings.HasPrefix(target, "/")
	raw := target
	if authority {
		raw = "http://" + target
	}
	if u, err = url.ParseRequestURI(raw); err != nil {
		return nil, "", err
	}
	if u.User != nil {
		return nil, "", errUser
	}
	if authority {
		u.Scheme = ""
	}
	return u, target, nil
}

// errUser rejects a target with a user before its host: "a recipient SHOULD parse for userinfo and
// treat its presence as an error; it is likely being used to obscure the authority" (RFC 9110,
// section 4.2.4).
var errUser = errors.New("the request target has a user")

// isPlain reports whether a target is an absolute path that needs no decoding, perhaps with a query
// that is not empty.
func isPlain(target string) bool {
	for i := range len(target) {
		c := target[i]
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '/' || c == '-' || c == '.' || c == '_' || c == '~':
		case c == '?' && i > 0:
			return i+1 < len(target)
		default:
			return false
		}
	}
	return target != "" && target[0] == '/'
}
