package accesslog

import (
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// entry is what is known of an exchange that is over.
type entry struct {
	came                        time.Time
	took                        time.Duration
	client, user                string
	method, host, target, proto string
	status                      int
	bytes                       int64
	referer, agent              string
	id, upstream, route         string
	err                         error
}

// maxField is after how many bytes a field is cut off.
const maxField = 8 << 10

var formats = map[string]func([]byte, *entry) []byte{
	"common":   func(b []byte, e *entry) []byte { return append(common(b, e), '\n') },
	"combined": combined,
	"json":     inJSON,
}

// common is Apache's format "%h %l %u %t \"%r\" %>s %b".
func common(b []byte, e *entry) []byte {
	b = word(b, e.client)
	b = append(b, " - "...)
	b = word(b, e.user)
	b = e.came.AppendFormat(b, " [02/Jan/2006:15:04:05 -0700] ")
	b = append(b, '"')
	b = escaped(b, e.method, false)
	b = append(b, ' ')
	b = escaped(b, e.target, false)
	b = append(b, ' ')
	b = escaped(b, e.proto, false)
	b = append(b, `" `...)
	b = strconv.AppendInt(b, int64(e.status), 10)
	if e.bytes == 0 {
		return append(b, " -"...)
	}
	return strconv.AppendInt(append(b, ' '), e.bytes, 10)
}

// combined is common with the referrer and the client's program.
func combined(b []byte, e *entry) []byte {
	b = common(b, e)
	for _, s := range [...]string{e.referer, e.agent} {
		b = append(b, ` "`...)
		if s == "" {
			s = "-"
		}
		b = append(escaped(b, s, false), '"')
	}
	return append(b, '\n')
}

// word is a field that is not quoted: it has no space.
func word(b []byte, s string) []byte {
	if s == "" {
		return append(b, '-')
	}
	return escaped(b, s, true)
}

const hex = "0123456789abcdef"

// escaped appends a field in which quotes and backslashes have a backslash before them, and all but
// printable ASCII is \xhh.
func escaped(b []byte, s string, word bool) []byte {
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

// inJSON is a line of JSON. What is not known is left out.
func inJSON(b []byte, e *entry) []byte {
	b = e.came.UTC().AppendFormat(append(b, `{"time":"`...), "2006-01-02T15:04:05.000000Z")
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
			b = quoted(b, f.value)
		}
	}
	for _, f := range [...]struct {
		name  string
		value int64
	}{{"status", int64(e.status)}, {"bytes", e.bytes}, {"duration_us", e.took.Microseconds()}} {
		b = append(append(append(b, `,"`...), f.name...), `":`...)
		b = strconv.AppendInt(b, f.value, 10)
	}
	return append(b, "}\n"...)
}

// quoted appends a JSON string (RFC 8259 section 7) in which all that is not printable is \uhhhh,
// and what is no UTF-8 is U+FFFD.
func quoted(b []byte, s string) []byte {
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
			b = unit(unit(b, 0xd800|r>>10), 0xdc00|r&0x3ff)
		default:
			b = unit(b, r)
		}
	}
	return append(b, '"')
}

// unit appends a code unit of UTF-16 as \uhhhh.
func unit(b []byte, u rune) []byte {
	return append(b, '\\', 'u', hex[u>>12&15], hex[u>>8&15], hex[u>>4&15], hex[u&15])
}
