package upload

import (
	"mime"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is the longest name of a file, in bytes.
const maxName = 120

// CleanName is a name as one that can be shown, stored and saved on any system: without folders,
// controls, marks that turn the direction of writing, and characters that some system does not
// allow; not beginning with a dot; at most 120 bytes, of which the ending stays. It is "file" if
// nothing is left.
func CleanName(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Map(plain, strings.ToValidUTF8(name, "_"))
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

// plain takes a character out, or puts another for it.
func plain(r rune) rune {
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

// NameFrom is the name that a Content-Disposition says (RFC 6266, and RFC 8187 for names that are
// not ASCII), cleaned; "file" if it says none.
func NameFrom(disposition string) string {
	_, params, err := mime.ParseMediaType(disposition)
	if err != nil {
		return CleanName("")
	}
	return CleanName(params["filename"])
}

// disposition is the value of a Content-Disposition: how is inline or attachment.
func disposition(how, name string) string {
	ascii := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, name)
	value := how + `; filename="` + ascii + `"`
	if ascii != name {
		value += "; filename*=UTF-8''" + percent(name)
	}
	return value
}

// percent escapes all but RFC 8187's attr-char.
func percent(s string) string {
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
