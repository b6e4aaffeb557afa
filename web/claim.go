package web

import (
	"net/http"
	"net/textproto"
	"strings"
)

// claimField reserves a request field for a component. It removes fields whose names differ only in
// underscores, because programs that map fields to variables (CGI) take them for the same. It also
// removes the name from Connection, or a proxy would remove the field as hop-by-hop (RFC 9110,
// section 7.6.1).
func claimField(h http.Header, name string) {
	name = textproto.CanonicalMIMEHeaderKey(name)
	for other := range h {
		if len(other) == len(name) && other != name && sameVariable(other, name) {
			delete(h, other)
		}
	}
	if h["Connection"] == nil || name == "Connection" || !hasToken(h["Connection"], name) {
		return
	}
	var kept []string
	for _, list := range h["Connection"] {
		for token := range strings.SplitSeq(list, ",") {
			if token = textproto.TrimString(token); token != "" && !strings.EqualFold(token, name) {
				kept = append(kept, token)
			}
		}
	}
	h["Connection"] = []string{strings.Join(kept, ", ")}
}

// sameVariable reports whether two field names of equal length map to the same CGI variable.
func sameVariable(a, b string) bool {
	return strings.EqualFold(strings.ReplaceAll(a, "_", "-"), strings.ReplaceAll(b, "_", "-"))
}
