package upload

import (
	"mime"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is the maximum length of a file name in bytes.
const maxName = 120

// CleanName returns name as a file name that is safe to display, store and save on any system. It
// removes folders, control characters, characters that change the direction of text, leading dots,
// and characters that some system forbids. It shortens the name to 120 bytes and keeps the
// extension. If nothing is left, the result is "file".
func CleanName(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Map(replaceUnsafe, strings.ToValidUTF8(name, "_"))
	name = strings.Trim(strings.Join(strings.Fields(name), " "), ". ")
	ending := path.Ext(name)
	if len(ending) > 16 {
		ending = ""
	}
	if stem := strings.TrimSuffix(name, ending); len(name) > maxName {
		stem = stem[:maxName-len(ending)]
		for !utf8.ValidString(stem) {
			stem = stem[:len(stem)-1]
		}
		name = strings.TrimRight(stem, ". ") + ending
	}
	if name == "" || strings.Trim(name, "._ ") == "" {
		return "file"
	}
	return name
}

// replaceUnsafe replaces or removes (-1) one unsafe character of a name.
func replaceUnsafe(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError:
		return -1
	case strings.ContainsRune(`<>:"|?*/\%`, r) || !unicode.IsPrint(r):
		return '_'
	}
	return r
}

// NameFrom returns the file name of a Content-Disposition header (RFC 6266, and RFC 8187 for names
// that are not ASCII), cleaned. It returns "file" if there is none.
func NameFrom(disposition string) string {
	_, params, err := mime.ParseMediaType(disposition)
	if err != nil {
		return CleanName("")
	}
	return CleanName(params["filename"])
}

// disposition returns a Content-Disposition value: kind is inline or attachment.
func disposition(kind, name string) string {
	ascii := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, name)
	value := kind + `; filename="` + ascii + `"`
	if ascii != name {
		value += "; filename*=UTF-8''" + percentEncode(name)
	}
	return value
}

// percentEncode escapes every byte except RFC 8187's attr-char.
func percentEncode(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("!#$&+-.^_`|~", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}
