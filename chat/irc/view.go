package irc

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"
)

// View is the set of message tags and features that a client receives.
type View uint8

// The parts of a View.
const (
	ViewTime      View        = 1 << iota // server-time
	ViewTags                              // message-tags: msgid and client-only tags
	ViewAccount                           // account-tag
	ViewMultiline                         // draft/multiline: a long message is one batch
	ViewRedact                            // draft/message-redaction
	Views         = 1 << iota             // number of views
)

// View returns the view of a client with these capabilities.
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

// allTags is the view that has all stored tags.
const allTags = ViewTime | ViewTags | ViewAccount

// OwnTags is the prefix of tags that are not sent to clients.
const OwnTags = "weir/"

var ownTags = []byte(OwnTags)

// AppendView appends a line with the tags of a view. tags are the line's tags without "@", escaped,
// in any order. extra tags, also without "@", precede them in every view. body is the line without
// tags, CR LF included.
func AppendView(dst []byte, v View, extra string, tags, body []byte) []byte {
	v &= allTags
	start := len(dst)
	if extra != "" {
		dst = append(append(dst, '@'), extra...)
	}
	switch {
	case v == 0 || len(tags) == 0:
	case v == allTags && !bytes.Contains(tags, ownTags):
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

// appendSome appends the tags that the view has.
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

// ClientTags returns the client-only tags of a message, sorted by name and escaped, "" if there are
// none. The result is at most as long as what the client sent.
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

// JoinTags joins lists of tags, each of which may be empty.
func JoinTags(lists ...string) string {
	return strings.Join(slices.DeleteFunc(lists, func(s string) bool { return s == "" }), ";")
}

// EscapeTag escapes the value of a tag.
func EscapeTag(value string) string { return ircmsg.EscapeTagValue(value) }
