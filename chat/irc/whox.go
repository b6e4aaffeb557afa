package irc

import "strings"

// WhoxFields are the fields of an RPL_WHOSPCRPL (354), in order.
const WhoxFields = "tcuihsnfdlaor"

// ParseWhox parses a WHOX parameter such as "%tcnuh,42": the requested fields and the token, "" for
// none or an invalid one.
func ParseWhox(s string) (fields, token string, ok bool) {
	s, ok = strings.CutPrefix(s, "%")
	if !ok {
		return "", "", false
	}
	fields, token, _ = strings.Cut(s, ",")
	if len(token) > 3 || strings.Trim(token, "0123456789") != "" {
		token = ""
	}
	return fields, token, true
}
