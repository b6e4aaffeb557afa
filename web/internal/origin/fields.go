package origin

import (
	"bytes"
	"net/textproto"
	"strings"
)

// Field is a field line of a response.
type Field struct {
	Name   string   // in canonical form
	Values []string // its only value; not to be changed, because later responses may share it
	line   string   // as received
}

// maxRemembered is the number of bytes of field lines that an idle connection remembers.
const maxRemembered = 4 << 10

// Fields returns the field lines of the head that ReadHead has returned last. They are valid until
// the next head is read, their names and values for ever. Most responses of a server have the same
// lines: a line that stood in the same place of the response before is not parsed again.
func (c *Conn) Fields() []Field {
	known := c.fields[:cap(c.fields)]
	all := c.fields[:0]
	for lines := c.response.Fields; len(lines) > 0; {
		end := bytes.Index(lines, []byte("\r\n"))
		line := lines[:end]
		if i := len(all); i < len(known) && known[i].line == string(line) {
			all = all[:i+1]
		} else {
			all = append(all, parseField(string(line)))
		}
		lines = lines[end+len("\r\n"):]
	}
	c.fields = all
	return all
}

// parseField parses a valid field line.
func parseField(line string) Field {
	name, value, _ := strings.Cut(line, ":")
	return Field{Name: textproto.CanonicalMIMEHeaderKey(name), Values: []string{strings.Trim(value, " \t")}, line: line}
}
