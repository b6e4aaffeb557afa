// Package coding chooses a content coding by what a client accepts (RFC 9110 section 12.5.3). It
// also has [HasToken], which a component needs to see whether a response forbids a coding
// (no-transform).
//
// # Limitations
//
// The package compares names of codings and does not encode. "x-gzip" for "gzip" is the only alias
// (section 8.4.1.3). A malformed element is ignored.
package coding

import (
	"net/textproto"
	"strings"
)

// Choose selects the offered coding to which the client gives the greatest weight; among equal
// weights, the first in offered. accept is the lines of an Accept-Encoding field.
//
// It returns the index, or -1 for the body as it is: if the field is missing, if nothing offered is
// accepted, or if the client gives "identity" a greater weight. identity is false if the client
// does not accept the body as it is.
func Choose(accept []string, offered []string) (index int, identity bool) {
	index, best := -1, 0
	if len(accept) == 0 {
		return index, true
	}
	any, anyListed := weight(accept, "*")
	for i, name := range offered {
		q, listed := weight(accept, name)
		if !listed {
			q = any
		}
		if q > best {
			index, best = i, q
		}
	}
	plain, listed := weight(accept, "identity")
	if listed && plain > best {
		index = -1
	}
	return index, listed && plain > 0 || !listed && !(anyListed && any == 0)
}

// weight returns the weight of a coding in a list, in thousandths, and whether the list has it.
func weight(accept []string, name string) (q int, listed bool) {
	for _, list := range accept {
		for rest, more := list, true; more; {
			var element string
			element, rest, more = strings.Cut(rest, ",")
			coding, parameters, _ := strings.Cut(element, ";")
			coding = textproto.TrimString(coding)
			if !strings.EqualFold(coding, name) && !(name == "gzip" && strings.EqualFold(coding, "x-gzip")) {
				continue
			}
			if q, ok := quality(textproto.TrimString(parameters)); ok {
				return q, true
			}
		}
	}
	return 0, false
}

// quality parses the weight of an element (RFC 9110, section 12.4.2) and returns it in thousandths,
// 1000 if s is empty. ok is false if the weight is malformed.
func quality(s string) (thousandths int, ok bool) {
	if s == "" {
		return 1000, true
	}
	if len(s) < 3 || s[0]|0x20 != 'q' || s[1] != '=' || len(s) > 7 {
		return 0, false
	}
	q, unit := 0, 1000
	for i, c := range []byte(s[2:]) {
		switch {
		case i == 1 && c == '.':
			continue
		case i == 1 || c < '0' || c > '9':
			return 0, false
		}
		q += int(c-'0') * unit
		unit /= 10
	}
	return q, q <= 1000
}

// HasToken reports whether a list field has a token, in any case. It ignores what follows "=" or
// ";".
func HasToken(lists []string, token string) bool {
	for _, list := range lists {
		for rest, more := list, true; more; {
			var element string
			element, rest, more = strings.Cut(rest, ",")
			if i := strings.IndexAny(element, "=;"); i >= 0 {
				element = element[:i]
			}
			if strings.EqualFold(textproto.TrimString(element), token) {
				return true
			}
		}
	}
	return false
}
