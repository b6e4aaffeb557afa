package account

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxLine is the length limit of a line, in bytes. A longer line is damaged.
const maxLine = 4096

// table is a text file: records, comments and empty lines in their order. Unchanged lines are
// written back byte for byte.
type table struct{ lines []*record }

// record is one line: words separated by spaces, the first positional, the rest KEY=VALUE.
type record struct {
	text   string   // line without its end
	fields []string // words; nil for a comment, an empty line and a damaged line
	number int      // line number, from 1
	err    error    // why the line is damaged; nil if it is not
}

// parseTable parses a file. It never fails: a damaged line keeps its place and has its error.
func parseTable(data []byte) *table {
	t := &table{}
	text := string(data)
	for number := 1; text != ""; number++ {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		r := &record{text: line, number: number}
		t.lines = append(t.lines, r)
		if blank := strings.Trim(line, " \t\r"); blank == "" || blank[0] == '#' {
			continue
		}
		if r.err = checkLine(line); r.err == nil {
			r.fields = strings.FieldsFunc(line, func(c rune) bool { return c == ' ' || c == '\t' || c == '\r' })
		}
	}
	return t
}

func checkLine(line string) error {
	if len(line) > maxLine {
		return fmt.Errorf("the line has %d bytes, want at most %d", len(line), maxLine)
	}
	if !utf8.ValidString(line) {
		return errors.New("the line is not UTF-8")
	}
	for i := 0; i < len(line); i++ {
		if c := line[i]; c < ' ' && c != '\t' && !(c == '\r' && i == len(line)-1) || c == 0x7f {
			return fmt.Errorf("the line holds the control character 0x%02x", c)
		}
	}
	return nil
}

// bytes returns the content of the file.
func (t *table) bytes() []byte {
	var b strings.Builder
	for _, r := range t.lines {
		b.WriteString(r.text)
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

func (t *table) add(words ...string) *record {
	r := &record{fields: words, text: strings.Join(words, " ")}
	t.lines = append(t.lines, r)
	return r
}

// keep removes the records for which f is false. Comments and damaged lines stay.
func (t *table) keep(f func(*record) bool) {
	kept := t.lines[:0]
	for _, r := range t.lines {
		if r.fields == nil || f(r) {
			kept = append(kept, r)
		}
	}
	t.lines = kept
}

// word returns the i-th word, "" if there are fewer.
func (r *record) word(i int) string {
	if i < len(r.fields) {
		return r.fields[i]
	}
	return ""
}

// first returns the first word, also of a damaged line.
func (r *record) first() string {
	text := strings.TrimLeft(r.text, " \t\r")
	if i := strings.IndexAny(text, " \t\r"); i >= 0 {
		text = text[:i]
	}
	return text
}

func (r *record) setWord(i int, word string) {
	r.fields[i] = word
	r.text = strings.Join(r.fields, " ")
}

// get returns the value of a key, unescaped, "" if the key is missing.
func (r *record) get(key string) string {
	for _, f := range r.fields[1:] {
		if value, ok := strings.CutPrefix(f, key+"="); ok {
			return unescape(value)
		}
	}
	return ""
}

// set sets the value of a key; "" removes the key. Unknown keys keep their places.
func (r *record) set(key, value string) {
	kept := r.fields[:1:1]
	done := value == ""
	for _, f := range r.fields[1:] {
		if !strings.HasPrefix(f, key+"=") {
			kept = append(kept, f)
		} else if !done {
			kept, done = append(kept, key+"="+escape(value)), true
		}
	}
	if !done {
		kept = append(kept, key+"="+escape(value))
	}
	r.fields = kept
	r.text = strings.Join(kept, " ")
}

// escape encodes spaces, control characters and % of a value as %XX.
func escape(value string) string {
	var b strings.Builder
	for _, c := range []byte(value) {
		if c <= ' ' || c == 0x7f || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescape decodes %XX. A % that starts no valid %XX stays as it is.
func unescape(value string) string {
	if !strings.Contains(value, "%") {
		return value
	}
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] == '%' && i+2 < len(value) {
			if x, err := hex.DecodeString(value[i+1 : i+3]); err == nil {
				b.WriteByte(x[0])
				i += 2
				continue
			}
		}
		b.WriteByte(value[i])
	}
	return b.String()
}
