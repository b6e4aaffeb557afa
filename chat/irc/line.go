package irc

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/ergochat/irc-go/ircmsg"
)

// Length limits of a client's line, in bytes.
const (
	MaxBody = 512  // without tags, CR LF included
	MaxTags = 4096 // "@", tags and the space behind them
	maxLine = MaxTags + MaxBody
)

// Errors of a line. Each is answered, and the connection continues with the next line.
var (
	ErrTooLong = errors.New("irc: line too long")
	ErrUTF8    = errors.New("irc: line is not UTF-8")
	ErrSyntax  = errors.New("irc: line cannot be parsed")
	ErrEmpty   = errors.New("irc: empty line") // ignored, without an answer
)

// Message is a parsed line.
type Message = ircmsg.Message

// Splitter splits a client's input into lines. The zero value is ready.
type Splitter struct {
	Skipping bool // the rest of a too long line is being dropped
}

// Next returns the first line of in, without LF or CR LF, and the rest. whole is false if in has
// only the start of a line, to which the next input is appended. A too long line is reported once,
// by ErrTooLong, and dropped to its end.
func (s *Splitter) Next(in []byte) (line, rest []byte, whole bool, err error) {
	end := bytes.IndexByte(in, '\n')
	switch {
	case s.Skipping && end < 0:
		return nil, nil, false, nil
	case s.Skipping:
		s.Skipping = false
		return s.Next(in[end+1:])
	case end < 0 && len(in) > maxLine:
		s.Skipping = true
		return nil, nil, true, ErrTooLong
	case end < 0:
		return nil, in, false, nil
	case end >= maxLine:
		return nil, in[end+1:], true, ErrTooLong
	}
	return bytes.TrimSuffix(in[:end], []byte{'\r'}), in[end+1:], true, nil
}

// commandBytes are the bytes of a command that an error reply may repeat.
const commandBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// Parse parses a client's line. The message does not share its memory.
func Parse(line []byte) (Message, error) {
	if !utf8.Valid(line) {
		return Message{}, ErrUTF8
	}
	m, err := ircmsg.ParseLineStrict(string(line), true, MaxBody)
	switch {
	case err == nil && strings.Trim(m.Command, commandBytes) != "":
		return m, ErrSyntax
	case err == nil:
		m.Source = "" // a client cannot send as another source
		return m, nil
	case errors.Is(err, ircmsg.ErrorLineIsEmpty):
		return m, ErrEmpty
	case errors.Is(err, ircmsg.ErrorBodyTooLong), errors.Is(err, ircmsg.ErrorTagsTooLong):
		return m, ErrTooLong
	}
	return m, ErrSyntax
}

// Param returns the parameter at i, "" if there are fewer.
func Param(m *Message, i int) string {
	if i < len(m.Params) {
		return m.Params[i]
	}
	return ""
}

// AppendLine appends a line from source ("": none) to dst. The last parameter is written behind a
// colon if it must be, or if it is text in this command. Any other parameter that would need a
// colon is replaced by *.
func AppendLine(dst []byte, source, command string, params ...string) []byte {
	if source != "" {
		dst = append(dst, ':')
		dst = append(dst, source...)
		dst = append(dst, ' ')
	}
	dst = append(dst, command...)
	for i, p := range params {
		dst = append(dst, ' ')
		switch last := i == len(params)-1; {
		case last && (isTrailing(p) || carriesText(command, i)):
			dst = append(append(dst, ':'), p...)
		case isTrailing(p):
			dst = append(dst, '*')
		default:
			dst = append(dst, p...)
		}
	}
	return append(dst, '\r', '\n')
}

// Word returns a parameter for a place before the last: "*" if it would need a colon.
func Word(p string) string {
	if isTrailing(p) {
		return "*"
	}
	return p
}

// isTrailing reports whether a parameter can only be the last one, behind a colon (RFC 2812,
// section 2.3.1).
func isTrailing(p string) bool { return p == "" || p[0] == ':' || strings.IndexByte(p, ' ') >= 0 }

// carriesText reports whether a command's parameter at i is text, which some clients expect behind
// a colon.
func carriesText(command string, i int) bool {
	switch command {
	case "QUIT", "ERROR", "AWAY", "SETNAME":
		return true
	case "PRIVMSG", "NOTICE", "TOPIC", "PART", "PONG":
		return i == 1
	case "KICK", RplTopic, RplAway:
		return i == 2
	case "METADATA":
		return i == 3
	case RplKeyValue:
		return i == 4
	}
	return false
}
