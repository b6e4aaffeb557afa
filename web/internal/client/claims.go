package client

import "strings"

// IsForwardingField reports whether a request field says where the request came from, or what it
// asked for, before it reached this server. Many programs believe such fields from any client, so
// they may pass only from a trusted proxy. An underscore counts as a hyphen, since many programs do
// not distinguish the two.
func IsForwardingField(field string) bool {
	field = strings.ToLower(strings.ReplaceAll(field, "_", "-"))
	switch field {
	case "forwarded", "x-real-ip", "client-ip", "x-client-ip", "true-client-ip", "x-cluster-client-ip":
		return true
	}
	return strings.HasPrefix(field, "x-forwarded-") || strings.HasPrefix(field, "x-original-") || strings.HasPrefix(field, "x-rewrite-")
}
