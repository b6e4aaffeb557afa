package web

import (
	"net/http"
	"net/textproto"
	"strings"
)

// claim makes a field of a request a component's own. Fields whose names differ from it in
// underscores only go, since programs that know fields as variables take them for one; and
// Connection no longer lists it, or a proxy would take it out as the client's (RFC 9110, 7.6.1).
func claim(h http.Header, name string) {
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

// sameVariable reports whether two names of fields of the same length become the same variable.
func sameVariable(a, b string) bool {
	return strings.EqualFold(strings.ReplaceAll(a, "_", "-"), strings.ReplaceAll(b, "_", "-"))
}
