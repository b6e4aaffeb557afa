package irc

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Length limits, in bytes.
const (
	MaxNick  = 32
	MaxUser  = 16
	MaxRoom  = 64
	MaxKey   = 32
	MaxTopic = 390
	MaxAway  = 200
	MaxReal  = 150
)

// Fold returns a name in the form for comparison: ASCII letters in lower case (CASEMAPPING=ascii).
func Fold(name string) string {
	for i := 0; i < len(name); i++ {
		if c := name[i]; 'A' <= c && c <= 'Z' {
			return fold(name)
		}
	}
	return name
}

func fold(name string) string {
	b := []byte(name)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// ValidNick reports whether a text is a valid nick.
func ValidNick(nick string) bool {
	if nick == "" || len(nick) > MaxNick || strings.IndexByte("0123456789-", nick[0]) >= 0 {
		return false
	}
	for i := 0; i < len(nick); i++ {
		if !nickByte(nick[i]) {
			return false
		}
	}
	return true
}

func nickByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("-_[]{}\\|`^", c) >= 0
}

// IsRoom reports whether a target is a channel name, not a nick.
func IsRoom(target string) bool { return target != "" && target[0] == '#' }

// ValidRoom reports whether a text is a valid channel name.
func ValidRoom(name string) bool {
	if !IsRoom(name) || len(name) < 2 || len(name) > MaxRoom || !utf8.ValidString(name) {
		return false
	}
	for _, r := range name {
		if r == ' ' || r == ',' || r == '*' || r == '?' || unicode.IsControl(r) {
			return false
		}
	}
	return true
}

// CleanUser converts the user name that a client sent to a valid one of at most MaxUser bytes.
func CleanUser(name string) string {
	var b strings.Builder
	for i := 0; i < len(name) && b.Len() < MaxUser; i++ {
		if c := name[i]; nickByte(c) || c == '.' || c == '~' {
			b.WriteByte(c)
		}
	}
	if b.Len() == 0 {
		return "user"
	}
	return b.String()
}

// Cut shortens text to at most size bytes, at a boundary of UTF-8 characters.
func Cut(text string, size int) string {
	if len(text) <= size {
		return text
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size]
}

// CleanMask completes a mask: "bob" becomes bob!*@*, "u@h" becomes *!u@h.
func CleanMask(mask string) string {
	nick, rest, bang := strings.Cut(mask, "!")
	if !bang {
		if strings.Contains(mask, "@") {
			nick, rest = "*", mask
		} else if strings.ContainsAny(mask, ".:") {
			nick, rest = "*", "*@"+mask
		}
	}
	user, host, _ := strings.Cut(rest, "@")
	or := func(s string) string {
		if s == "" {
			return "*"
		}
		return s
	}
	return or(nick) + "!" + or(user) + "@" + or(host)
}

// Match reports whether a name matches a mask, in which * stands for any bytes and ? for one. Case
// is ignored. Its time is at most proportional to the product of the lengths.
func Match(mask, name string) bool {
	mask, name = Fold(mask), Fold(name)
	m, n, star, from := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case m < len(mask) && mask[m] == '*':
			star, from = m, n
			m++
		case m < len(mask) && (mask[m] == '?' || mask[m] == name[n]):
			m++
			n++
		case star >= 0:
			from++
			m, n = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(mask[m:], "*") == ""
}
