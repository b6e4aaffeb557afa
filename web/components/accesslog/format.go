package accesslog

import (
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// entry is the data of an exchange that is over.
type entry struct {
	startedAt                   time.Time
	duration                    time.Duration
	client, user                string
	method, host, target, proto string
	status                      int
	bytes                       int64
	referer, agent              string
	id, upstream, route         string
	err                         error
}

// maxField is the length at which fields are truncated, in bytes.
const maxField = 8 << 10

var formats = map[string]func([]byte, *entry) []byte{
	"common":   func(b []byte, e *entry) []byte { return append(appendCommon(b, e), '\n') },
	"combined": appendCombined,
	"json":     appendJSON,
}

// appendCommon appends Apache's format "%h %l %u %t \"%r\" %>s %b".
func appendCommon(b []byte, e *entry) []byte {
	b = appendWord(b, e.client)
	b = append(b, " - "...)
	b = appendWord(b, e.user)
	b = e.startedAt.AppendFormat(b, " [02/Jan/2006:15:04:05 -0700] ")
	b = append(b, '"')
	b = appendEscaped(b, e.method, false)
	b = append(b, ' ')
	b = appendEscaped(b, e.target, false)
	b = append(b, ' ')
	b = appendEscaped(b, e.proto, false)
	b = append(b, `" `...)
	b = strconv.AppendInt(b, int64(e.status), 10)
	if e.bytes == 0 {
		return append(b, " -"...)
	}
	return strconv.AppendInt(append(b, ' '), e.bytes, 10)
}

// appendCombined appends the common format with the referrer and the user agent.
func appendCombined(b []byte, e *entry) []byte {
	b = appendCommon(b, e)
	for _, s := range [...]string{e.referer, e.agent} {
		b = append(b, ` "`...)
		if s == "" {
			s = "-"
		}
		b = append(appendEscaped(b, s, false), '"')
	}
	return append(b, '\n')
}

// appendWord appends a field without quotes, so spaces are escaped.
func appendWord(b []byte, s string) []byte {
	if s == "" {
		return append(b, '-')
	}
	return appendEscaped(b, s, true)
}

const hex = "0123456789abcdef"

// appendEscaped appends a field: quotes and backslashes with a backslash before them, and every
// byte that is not printable ASCII as \xhh.
func appendEscaped(b []byte, s string, word bool) []byte {
	for i := range min(len(s), maxField) {
		switch ch := s[i]; {
		case ch == '"' || ch == '\\':
			b = append(b, '\\', ch)
		case ch < ' ' || ch > '~' || word && ch == ' ':
			b = append(b, '\\', 'x', hex[ch>>4], hex[ch&15])
		default:
			b = append(b, ch)
		}
	}
	return b
}

// appendJSON appends a line of JSON without fields that are not known.
func appendJSON(b []byte, e *entry) []byte {
	b = e.startedAt.UTC().AppendFormat(append(b, `{"time":"`...), "2006-01-02T15:04:05.000000Z")
	b = append(b, '"')
	why := ""
	if e.err != nil {
		why = e.err.Error()
	}
	for _, f := range [...]struct{ name, value string }{
		{"client", e.client}, {"user", e.user}, {"method", e.method}, {"host", e.host}, {"target", e.target}, {"proto", e.proto},
		{"referer", e.referer}, {"agent", e.agent}, {"request_id", e.id}, {"route", e.route}, {"upstream", e.upstream}, {"error", why},
	} {
		if f.value != "" {
			b = append(append(append(b, `,"`...), f.name...), `":`...)
			b = appendJSONString(b, f.value)
		}
	}
	for _, f := range [...]struct {
		name  string
		value int64
	}{{"status", int64(e.status)}, {"bytes", e.bytes}, {"duration_us", e.duration.Microseconds()}} {
		b = append(append(append(b, `,"`...), f.name...), `":`...)
		b = strconv.AppendInt(b, f.value, 10)
	}
	return append(b, "}\n"...)
}

// appendJSONString appends a JSON string (RFC 8259, section 7). Characters that are not printable
// become \uhhhh, and bytes that are not UTF-8 become U+FFFD.
func appendJSONString(b []byte, s string) []byte {
	if len(s) > maxField {
		s = s[:maxField]
	}
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r != utf8.RuneError && (r >= ' ' && r <= '~' || r > '~' && unicode.IsPrint(r)):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			r -= 0x10000
			b = appendUTF16Escape(appendUTF16Escape(b, 0xd800|r>>10), 0xdc00|r&0x3ff)
		default:
			b = appendUTF16Escape(b, r)
		}
	}
	return append(b, '"')
}

// appendUTF16Escape appends a UTF-16 code unit as \uhhhh.
func appendUTF16Escape(b []byte, u rune) []byte {
	return append(b, '\\', 'u', hex[u>>12&15], hex[u>>8&15], hex[u>>4&15], hex[u&15])
}
