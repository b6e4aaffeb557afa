package irc

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"
)

// View is how much of a message's tags a client understands.
type View uint8

// The parts of a View.
const (
	ViewTime      View        = 1 << iota // server-time
	ViewTags                              // message-tags: msgid and client-only tags
	ViewAccount                           // account-tag
	ViewMultiline                         // draft/multiline: a long message is one batch
	ViewRedact                            // draft/message-redaction
	Views         = 1 << iota             // how many there are
)

// View is what is sent to a client with these capabilities.
func (s Caps) View() View {
	var v View
	if s.Has(CapServerTime) {
		v |= ViewTime
	}
	if s.Has(CapMessageTags) {
		v |= ViewTags
	}
	if s.Has(CapAccountTag) {
		v |= ViewAccount
	}
	if s.Has(CapMultiline | CapBatch | CapMessageTags) {
		v |= ViewMultiline
	}
	if s.Has(CapRedaction) {
		v |= ViewRedact
	}
	return v
}

// whole is the view whose tags are the stored ones as they are.
const whole = ViewTime | ViewTags | ViewAccount

// OwnTags begins the names of tags that stay on the server.
const OwnTags = "weir/"

var ownTags = []byte(OwnTags)

// AppendView appends a line with the tags of a view. Tags are a line's tags without "@", escaped,
// in any order; extra ones, without "@" too, are put before them whatever the view says. Body is
// the line behind its tags, CR LF included.
func AppendView(dst []byte, v View, extra string, tags, body []byte) []byte {
	v &= whole
	start := len(dst)
	if extra != "" {
		dst = append(append(dst, '@'), extra...)
	}
	switch {
	case v == 0 || len(tags) == 0:
	case v == whole && !bytes.Contains(tags, ownTags):
		dst = append(appendSeparator(dst, start), tags...)
	default:
		dst = appendSome(dst, start, v, tags)
	}
	if len(dst) > start {
		dst = append(dst, ' ')
	}
	return append(dst, body...)
}

func appendSeparator(dst []byte, start int) []byte {
	if len(dst) == start {
		return append(dst, '@')
	}
	return append(dst, ';')
}

// appendSome appends those of the tags that the view shows.
func appendSome(dst []byte, start int, v View, tags []byte) []byte {
	for len(tags) > 0 {
		tag, rest, _ := bytes.Cut(tags, []byte{';'})
		if v.shows(tag) {
			dst = append(appendSeparator(dst, start), tag...)
		}
		tags = rest
	}
	return dst
}

func (v View) shows(tag []byte) bool {
	name, _, _ := bytes.Cut(tag, []byte{'='})
	switch {
	case string(name) == "time":
		return v&ViewTime != 0
	case string(name) == "account":
		return v&ViewAccount != 0
	case bytes.HasPrefix(name, ownTags):
		return false
	}
	return v&ViewTags != 0
}

// AppendTime appends a time tag.
func AppendTime(dst []byte, t time.Time) []byte {
	return t.UTC().AppendFormat(append(dst, "time="...), TimeFormat)
}

// ClientTags are the client-only tags of a message, sorted by name and escaped, "" when there are
// none. What is put together is at most as long as what the client sent.
func ClientTags(m *Message) string {
	tags := m.ClientOnlyTags()
	if len(tags) == 0 {
		return ""
	}
	names := make([]string, 0, len(tags))
	for n := range tags {
		names = append(names, n)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, n := range names {
		if b.Len() > 0 {
			b.WriteByte(';')
		}
		b.WriteString(n)
		if v := tags[n]; v != "" {
			b.WriteByte('=')
			b.WriteString(ircmsg.EscapeTagValue(v))
		}
	}
	return b.String()
}

// JoinTags joins lists of tags, of which each may be empty.
func JoinTags(lists ...string) string {
	return strings.Join(slices.DeleteFunc(lists, func(s string) bool { return s == "" }), ";")
}

// EscapeTag escapes a tag's value.
func EscapeTag(value string) string { return ircmsg.EscapeTagValue(value) }
