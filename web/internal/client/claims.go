package client

import "strings"

// Claims reports whether a field of a request says where the request came from, or what it asked
// for, before it reached this server. Programs believe such fields from any client, so they pass
// only from a trusted front. An underscore counts as a hyphen, which many programs do not tell from
// one.
func Claims(field string) bool {
	field = strings.ToLower(strings.ReplaceAll(field, "_", "-"))
	switch field {
	case "forwarded", "x-real-ip", "client-ip", "x-client-ip", "true-client-ip", "x-cluster-client-ip":
		return true
	}
	return strings.HasPrefix(field, "x-forwarded-") || strings.HasPrefix(field, "x-original-") || strings.HasPrefix(field, "x-rewrite-")
}
