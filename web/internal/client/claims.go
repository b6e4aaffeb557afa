package client

// IsForwardingField reports whether a request field says where the request came from, or what it
// asked for, before it reached this server. Many programs believe such fields from any client, so
// they may pass only from a trusted proxy. An underscore counts as a hyphen, since many programs do
// not distinguish the two.
func IsForwardingField(field string) bool {
	for _, name := range forwardingFields {
		if len(field) == len(name) && hasPrefix(field, name) {
			return true
		}
	}
	return hasPrefix(field, "x-forwarded-") || hasPrefix(field, "x-original-") || hasPrefix(field, "x-rewrite-")
}

var forwardingFields = [...]string{"forwarded", "x-real-ip", "client-ip", "x-client-ip", "true-client-ip", "x-cluster-client-ip"}

// hasPrefix reports whether a field name starts with a prefix in lower case, where an underscore of
// the name counts as a hyphen.
func hasPrefix(field, prefix string) bool {
	if len(field) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		c := field[i]
		switch {
		case 'A' <= c && c <= 'Z':
			c |= 0x20
		case c == '_':
			c = '-'
		}
		if c != prefix[i] {
			return false
		}
	}
	return true
}
