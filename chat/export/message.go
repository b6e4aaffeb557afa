package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"weir/chat/data"
	"weir/chat/log"
)

// Tags by which an imported message is known.
const (
	importTag   = "weir/import"   // the id it had where it was first stored
	sentTag     = "weir/sent"     // the time it had, if it was imported late
	redactedTag = "weir/redacted" // the log's: its text was taken away
	padTag      = "weir/pad"      // the log's: room for a redaction
)

const (
	timeForm = "2006-01-02T15:04:05.000Z"
	// bytes of a line of JSON: a stored line has at most 16 KiB, of which each byte may become six
	maxLine = 256 << 10
)

// ErrMessage means that a line is no message of an export; the error around it says why.
var ErrMessage = errors.New("not an exported message")

// Message is a stored message as a line of JSON has it.
type Message struct {
	Room string `json:"room"` // "#Family", or "ann,bob" for a conversation
	// the room's id where it was first stored, '-', and the offset there
	MsgID string `json:"msgid"`
	Time  string `json:"time"`           // UTC, to the millisecond: 2026-11-21T11:30:00.123Z
	Tags  string `json:"tags,omitempty"` // escaped as in IRC, without those the log makes itself
	Line  string `json:"line,omitempty"` // ":ann!u@h PRIVMSG #family :hello"
	// base64, instead of Tags and Line where they are not UTF-8: tags, a blank, line
	Raw []byte `json:"raw,omitempty"`
}

// toMessage makes a stored line one for export. The copy is its own.
func toMessage(room string, line log.Line) Message {
	tagged, plain := line.Tagged(), line.Plain()
	tags := bytes.SplitN(tagged[:len(tagged)-len(plain)-1], []byte(";"), 3)
	m := Message{Room: room, MsgID: line.MsgID(), Time: line.Time().Format(timeForm)}
	var kept []string
	if len(tags) > 2 {
		for tag := range strings.SplitSeq(string(tags[2]), ";") {
			switch name, value, _ := strings.Cut(tag, "="); name {
			case importTag:
				m.MsgID = value
			case padTag, "time", "msgid": // the last two are not in TAGS by right
			case redactedTag:
				kept = append(kept, redactedTag)
			default:
				kept = append(kept, tag)
			}
		}
	}
	m.Tags, m.Line = strings.Join(kept, ";"), string(plain[:len(plain)-2])
	return m
}

// appendJSON adds m as a line of JSON to b.
func (m Message) appendJSON(b *bytes.Buffer) error {
	if !utf8.ValidString(m.Line) || !utf8.ValidString(m.Tags) {
		m.Raw = []byte(m.Tags + " " + m.Line)
		m.Tags, m.Line = "", ""
	}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	return e.Encode(m)
}

// parse reads a line of JSON, and says what is wrong with it.
func parse(line []byte) (m Message, at time.Time, room data.Room, err error) {
	if !utf8.Valid(line) {
		return m, at, room, fmt.Errorf("%w: it is not UTF-8", ErrMessage)
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err = d.Decode(&m); err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is something behind its end")
		}
	}
	if err != nil {
		return m, at, room, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	if len(m.Raw) > 0 {
		if m.Tags != "" || m.Line != "" {
			return m, at, room, fmt.Errorf("%w: it has raw beside tags or line", ErrMessage)
		}
		m.Tags, m.Line, _ = strings.Cut(string(m.Raw), " ")
		m.Raw = nil
	}
	if at, err = time.Parse(timeForm, m.Time); err != nil || at.Year() < 1970 {
		return m, at, room, fmt.Errorf("%w: its time %q is not as 2026-11-21T11:30:00.123Z", ErrMessage, m.Time)
	}
	if room, err = data.Named(m.Room); err != nil {
		return m, at, room, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	return m, at, room, m.check()
}

// check says why the log would not take a message, or would not give it back as it is.
func (m *Message) check() error {
	wrong := ""
	source, command, _ := strings.Cut(m.Line, " ")
	switch {
	case !isID(m.MsgID):
		wrong = "its msgid is not 8 letters of a-z2-7, '-' and an offset"
	case len(source) < 2 || source[0] != ':' || command == "" || command[0] == ' ':
		wrong = "its line does not begin with ':' and a source, then have a command"
	case strings.ContainsAny(m.Line, "\r\n\x00"):
		wrong = "its line has a CR, LF or NUL"
	case strings.ContainsAny(m.Tags, " \r\n\x00") || strings.HasPrefix(m.Tags, ";"):
		wrong = "its tags have a blank, a CR, LF or NUL, or begin with ';'"
	case m.size() > log.MaxLine:
		wrong = fmt.Sprintf("it is longer than the %d bytes of a stored line", log.MaxLine)
	case m.Tags != "":
		for tag := range strings.SplitSeq(m.Tags, ";") {
			switch name, _, _ := strings.Cut(tag, "="); name {
			case "time", "msgid", padTag, importTag:
				wrong = "the tag " + strconv.Quote(tag) + " is the log's own"
			}
		}
	}
	if wrong != "" {
		return fmt.Errorf("%w: %s", ErrMessage, wrong)
	}
	return nil
}

// size is the most bytes that the stored line has.
func (m *Message) size() int {
	const most = len("@weir/sum=SSSSSSSS;time=2026-11-21T11:30:00.000Z;msgid=abcdefgh-1234567890123456789;weir/sent=2026-11-21T11:30:00.000Z \r\n")
	return most + len(m.importTags()) + len(m.Line)
}

// importTags are the tags with which m is stored.
func (m *Message) importTags() string {
	tags := importTag + "=" + m.MsgID
	if m.Tags != "" {
		tags = m.Tags + ";" + tags
	}
	return tags
}

// isID says whether s is a msgid.
func isID(s string) bool {
	id, offset, _ := strings.Cut(s, "-")
	if len(id) != 8 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") != "" {
		return false
	}
	n, err := strconv.ParseInt(offset, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == offset && n >= 0
}
