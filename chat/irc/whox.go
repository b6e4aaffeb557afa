package irc

import "strings"

// WhoxFields are the fields of a WHOX answer in their order.
const WhoxFields = "tcuihsnfdlaor"

// ParseWhox takes "%tcnuh,42" apart: which fields are asked for, and the token, "" for none or one
// that is wrong.
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
