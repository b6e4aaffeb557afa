package symbol

import (
	"strconv"
	"strings"
)

// Demangle returns the readable form of a nested name in the Itanium mangling, which C++ uses and
// Rust's legacy mangling follows: "_ZN3std2io5Write9write_all17h0123456789abcdefE" is
// std::io::Write::write_all. Rust's hash is removed, because it differs between builds. Any other
// name is returned as it is.
func Demangle(name string) string {
	rest, ok := strings.CutPrefix(name, "_ZN")
	if !ok {
		return name
	}
	rest = strings.TrimPrefix(rest, "K") // a const method
	var parts []string
	for len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9' {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.Atoi(rest[:digits])
		if err != nil || n == 0 || n > len(rest)-digits {
			return name
		}
		parts = append(parts, rest[digits:digits+n])
		rest = rest[digits+n:]
	}
	if len(parts) == 0 || !strings.HasPrefix(rest, "E") {
		return name
	}
	if last := parts[len(parts)-1]; len(parts) > 1 && len(last) == 17 && last[0] == 'h' && strings.Trim(last[1:], "0123456789abcdef") == "" {
		parts = parts[:len(parts)-1]
	}
	for i, p := range parts {
		parts[i] = unescapeRust(p)
	}
	return strings.Join(parts, "::")
}

var rustEscapes = strings.NewReplacer("$LT$", "<", "$GT$", ">", "$RF$", "&", "$BP$", "*", "$LP$", "(", "$RP$", ")", "$C$", ",",
	"$u20$", " ", "$u27$", "'", "$u5b$", "[", "$u5d$", "]", "$u7b$", "{", "$u7d$", "}", "$u3b$", ";", "$u2b$", "+", "$u22$", `"`, "..", "::")

// unescapeRust replaces the escapes of Rust's legacy mangling.
func unescapeRust(part string) string {
	if strings.HasPrefix(part, "_$") {
		part = part[1:]
	}
	return rustEscapes.Replace(part)
}
