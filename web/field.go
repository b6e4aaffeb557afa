package web

import "net/http"

// values returns the values of a field. It costs less than [http.Header.Values] for names in
// canonical form, which are those that components use.
func values(h http.Header, name string) []string {
	if isCanonicalName(name) {
		return h[name]
	}
	return h.Values(name)
}

// value returns the first value of a field, or "".
func value(h http.Header, name string) string {
	if v := values(h, name); len(v) > 0 {
		return v[0]
	}
	return ""
}

// isCanonicalName reports whether a name of letters and hyphens is in canonical form: a capital at
// the start and behind each hyphen, and nowhere else.
func isCanonicalName(name string) bool {
	start := true
	for i := range len(name) {
		switch c := name[i]; {
		case start && 'A' <= c && c <= 'Z', !start && 'a' <= c && c <= 'z':
			start = false
		case c == '-':
			start = true
		default:
			return false
		}
	}
	return true
}
