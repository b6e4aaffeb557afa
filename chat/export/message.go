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

// Tags of an imported message.
const (
	importTag   = "weir/import"   // its id where it was first stored
	sentTag     = "weir/sent"     // its time, if it was imported late
	redactedTag = "weir/redacted" // of the log: its text was removed
	padTag      = "weir/pad"      // of the log: space for a redaction
)

const (
	timeForm = "2006-01-02T15:04:05.000Z"
	// length limit of a line of JSON, in bytes: a stored line has at most 16 KiB, and each byte may
	// take six
	maxLine = 256 << 10
)

// ErrMessage is wrapped by the error for a line that is not an exported message.
var ErrMessage = errors.New("not an exported message")

// Message is a stored message as a line of JSON.
type Message struct {
	Room string `json:"room"` // "#Family", or "ann,bob" for a conversation
	// id of the room where it was first stored, '-', and its offset there
	MsgID string `json:"msgid"`
	Time  string `json:"time"` // UTC, to the millisecond: 2026-11-21T11:30:00.123Z
	// escaped as IRCv3 message tags, without those of the log itself
	Tags string `json:"tags,omitempty"`
	Line string `json:"line,omitempty"` // ":ann!u@h PRIVMSG #family :hello"
	// replaces Tags and Line if they are not UTF-8: base64 of tags, a space, line
	Raw []byte `json:"raw,omitempty"`
}

// toMessage converts a stored line. The result does not share its memory.
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
			case padTag, "time", "msgid": // the log does not store these two in TAGS
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

// appendJSON appends m to b as a line of JSON.
func (m Message) appendJSON(b *bytes.Buffer) error {
	if !utf8.ValidString(m.Line) || !utf8.ValidString(m.Tags) {
		m.Raw = []byte(m.Tags + " " + m.Line)
		m.Tags, m.Line = "", ""
	}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	return e.Encode(m)
}

// parse parses and validates a line of JSON.
func parse(line []byte) (m Message, at time.Time, room data.Room, err error) {
	if !utf8.Valid(line) {
		return m, at, room, fmt.Errorf("%w: it is not UTF-8", ErrMessage)
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err = d.Decode(&m); err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("it is followed by other bytes")
		}
	}
	if err != nil {
		return m, at, room, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	if len(m.Raw) > 0 {
		if m.Tags != "" || m.Line != "" {
			return m, at, room, fmt.Errorf("%w: it has raw and also tags or line", ErrMessage)
		}
		m.Tags, m.Line, _ = strings.Cut(string(m.Raw), " ")
		m.Raw = nil
	}
	if at, err = time.Parse(timeForm, m.Time); err != nil || at.Year() < 1970 {
		return m, at, room, fmt.Errorf("%w: its time %q is not of the form 2026-11-21T11:30:00.123Z", ErrMessage, m.Time)
	}
	if room, err = data.Named(m.Room); err != nil {
		return m, at, room, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	return m, at, room, m.check()
}

// check returns an error if the log would reject the message or would not return it unchanged.
func (m *Message) check() error {
	wrong := ""
	source, command, _ := strings.Cut(m.Line, " ")
	switch {
	case !isID(m.MsgID):
		wrong = "its msgid is not 8 letters of a-z2-7, '-' and an offset"
	case len(source) < 2 || source[0] != ':' || command == "" || command[0] == ' ':
		wrong = "its line does not start with ':', a source and a command"
	case strings.ContainsAny(m.Line, "\r\n\x00"):
		wrong = "its line contains CR, LF or NUL"
	case strings.ContainsAny(m.Tags, " \r\n\x00") || strings.HasPrefix(m.Tags, ";"):
		wrong = "its tags contain a space, CR, LF or NUL, or start with ';'"
	case m.size() > log.MaxLine:
		wrong = fmt.Sprintf("it is longer than the %d bytes of a stored line", log.MaxLine)
	case m.Tags != "":
		for tag := range strings.SplitSeq(m.Tags, ";") {
			switch name, _, _ := strings.Cut(tag, "="); name {
			case "time", "msgid", padTag, importTag:
				wrong = "the tag " + strconv.Quote(tag) + " is reserved for the log"
			}
		}
	}
	if wrong != "" {
		return fmt.Errorf("%w: %s", ErrMessage, wrong)
	}
	return nil
}

// size returns the largest length of the stored line.
func (m *Message) size() int {
	const most = len("@weir/sum=SSSSSSSS;time=2026-11-21T11:30:00.000Z;msgid=abcdefgh-1234567890123456789;weir/sent=2026-11-21T11:30:00.000Z \r\n")
	return most + len(m.importTags()) + len(m.Line)
}

// importTags returns the tags with which m is stored.
func (m *Message) importTags() string {
	tags := importTag + "=" + m.MsgID
	if m.Tags != "" {
		tags = m.Tags + ";" + tags
	}
	return tags
}

// isID reports whether s is a msgid.
func isID(s string) bool {
	id, offset, _ := strings.Cut(s, "-")
	if len(id) != 8 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") != "" {
		return false
	}
	n, err := strconv.ParseInt(offset, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == offset && n >= 0
}
