package log

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"
)

// MaxLine is the length limit of a stored line, in bytes, CR LF included.
const MaxLine = 16 << 10

// Positions in a stored line. Everything up to the room's id has a fixed width.
//
//	@weir/sum=SSSSSSSS;time=2026-11-21T11:30:00.123Z;msgid=abcdefgh-123;account=ann :ann C #r :hi
//	0         10       19   24                       48     55       64
const (
	sumMark   = "@weir/sum="
	timeMark  = "time="
	msgidMark = ";msgid="
	timeForm  = "2006-01-02T15:04:05.000Z"

	sumAt    = len(sumMark)
	taggedAt = sumAt + 8 + 1 // behind the ';' of the checksum
	timeAt   = taggedAt + len(timeMark)
	markAt   = timeAt + len(timeForm)
	msgidAt  = markAt + len(msgidMark)
	idSize   = 8
	offsetAt = msgidAt + idSize + 1
	minLine  = offsetAt + len("0 :s C\r\n")
)

// Tags of the log itself.
const (
	tagRedacted = "weir/redacted"
	tagPad      = "weir/pad="
)

// minRedactable is the least number of bytes of source, tags and text together, so that a line can
// be redacted in place. A shorter line is padded.
const minRedactable = 16

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Entry is a message to be stored. The caller may reuse its memory after Append.
type Entry struct {
	// years 1970 to 9999, stored to the millisecond; a time before that of the line before is
	// replaced by that
	Time time.Time
	// further tags, escaped (IRCv3 message tags), separated by ';'; may be ""
	Tags string
	Body string // ":nick!user@host PRIVMSG #room :text", without CR LF
}

// Line is a valid stored line, CR LF included. It shares the memory of its reader.
type Line []byte

// Offset returns the logical offset of the line's first byte.
func (l Line) Offset() int64 {
	n, _ := l.offset()
	return n
}

// offset also returns the position behind the msgid.
func (l Line) offset() (n int64, end int) {
	for end = offsetAt; l[end] >= '0' && l[end] <= '9'; end++ {
		n = n*10 + int64(l[end]-'0')
	}
	return n, end
}

// Time returns the time at which the line was stored, in UTC.
func (l Line) Time() time.Time {
	t, _ := parseTime(l[timeAt:markAt])
	return t
}

// MsgID returns the message id: the room's id, '-', and the offset.
func (l Line) MsgID() string {
	_, end := l.offset()
	return string(l[msgidAt:end])
}

// Tagged returns the line from "time=" on. A client with message-tags receives it behind '@'.
func (l Line) Tagged() []byte { return l[taggedAt:] }

// Plain returns the line from ':' on, as a client without tags receives it.
func (l Line) Plain() []byte { return l[bytes.IndexByte(l, ' ')+1:] }

// Tag returns the value of a tag behind msgid, escaped as it is stored. ok is false if the line
// lacks the tag.
func (l Line) Tag(name string) (value string, ok bool) {
	_, at := l.offset()
	for l[at] == ';' {
		tag := l[at+1:]
		tag = tag[:bytes.IndexAny(tag, "; ")]
		at += 1 + len(tag)
		key, v, _ := bytes.Cut(tag, []byte("="))
		if string(key) == name {
			return string(v), true
		}
	}
	return "", false
}

// Redacted reports whether the text of the line was removed.
func (l Line) Redacted() bool { _, ok := l.Tag(tagRedacted); return ok }

// parseLine returns b as a Line if it is valid: well-formed, with a correct checksum.
func parseLine(b []byte) (Line, bool) {
	if len(b) < minLine || len(b) > MaxLine || string(b[:sumAt]) != sumMark || b[taggedAt-1] != ';' ||
		string(b[taggedAt:timeAt]) != timeMark || string(b[markAt:msgidAt]) != msgidMark ||
		b[offsetAt-1] != '-' || string(b[len(b)-2:]) != "\r\n" {
		return nil, false
	}
	sum, ok := parseSum(b[sumAt : sumAt+8])
	if !ok || crc32.Checksum(b[taggedAt:], castagnoli) != sum {
		return nil, false
	}
	return Line(b), wellFormed(b)
}

// wellFormed reports whether b has the form that the methods of Line rely on. A correct checksum
// does not guarantee that.
func wellFormed(b []byte) bool {
	n, at := Line(b).offset()
	digits := at - offsetAt
	if digits < 1 || digits > 19 || n < 0 || digits > 1 && b[offsetAt] == '0' || !isID(b[msgidAt:msgidAt+idSize]) {
		return false
	}
	if b[at] != ' ' && (b[at] != ';' || b[at+1] == ' ') {
		return false
	}
	space := bytes.IndexByte(b, ' ')
	if space < 0 || !isMessage(b[space+1:len(b)-2]) {
		return false
	}
	if bytes.IndexByte(b[:len(b)-2], '\r') >= 0 || bytes.IndexByte(b[:len(b)-2], '\n') >= 0 || bytes.IndexByte(b, 0) >= 0 {
		return false
	}
	_, ok := parseTime(b[timeAt:markAt])
	return ok
}

// isMessage reports whether b has a source and a command.
func isMessage[T []byte | string](b T) bool {
	if len(b) < len(":s C") || b[0] != ':' {
		return false
	}
	for i := 1; i < len(b)-1; i++ {
		if b[i] == ' ' {
			return i > 1 && b[i+1] != ' '
		}
	}
	return false
}

// isID reports whether b is a room's id: 8 characters of a-z and 2-7.
func isID(b []byte) bool {
	for _, c := range b {
		if (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return len(b) == idSize
}

func parseSum(b []byte) (sum uint32, ok bool) {
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, false
		}
		sum = sum<<4 | uint32(c)
	}
	return sum, true
}

// parseDigits parses decimal digits. ok is false if there is any other byte.
func parseDigits(b []byte) (n int, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// parseTime parses the 24 bytes of a time.
func parseTime(b []byte) (time.Time, bool) {
	if b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' || b[19] != '.' || b[23] != 'Z' {
		return time.Time{}, false
	}
	year, ok1 := parseDigits(b[:4])
	month, ok2 := parseDigits(b[5:7])
	day, ok3 := parseDigits(b[8:10])
	hour, ok4 := parseDigits(b[11:13])
	minute, ok5 := parseDigits(b[14:16])
	second, ok6 := parseDigits(b[17:19])
	milli, ok7 := parseDigits(b[20:23])
	ok := ok1 && ok2 && ok3 && ok4 && ok5 && ok6 && ok7 && month >= 1 && month <= 12 && day >= 1 && day <= 31 &&
		hour < 24 && minute < 60 && second < 60
	return time.Date(year, time.Month(month), day, hour, minute, second, milli*1e6, time.UTC), ok
}

// Errors of Append, to be tested with errors.Is.
var (
	// ErrTooLong: the line of an entry would exceed MaxLine. No entry of the batch is stored.
	ErrTooLong = fmt.Errorf("chat/log: a line is longer than %d bytes", MaxLine)
	// ErrInvalid: an entry is not a message. No entry of the batch is stored.
	ErrInvalid = errors.New("chat/log: not a message")
)

// validate returns an error if the entry cannot be stored as a line.
func (e *Entry) validate() error {
	switch {
	case !isMessage(e.Body):
		return fmt.Errorf("%w: want ':', a source and a command", ErrInvalid)
	case strings.IndexByte(e.Body, '\n') >= 0 || strings.IndexByte(e.Body, '\r') >= 0 || strings.IndexByte(e.Body, 0) >= 0:
		return fmt.Errorf("%w: it contains CR, LF or NUL", ErrInvalid)
	case strings.ContainsAny(e.Tags, " \r\n\x00") || strings.HasPrefix(e.Tags, ";") || strings.HasSuffix(e.Tags, ";"):
		return fmt.Errorf("%w: its tags contain a space, CR, LF or NUL, or start or end with ';'", ErrInvalid)
	}
	if year := e.Time.UTC().Year(); year < 1970 || year > 9999 {
		return fmt.Errorf("%w: its time is in the year %d, want 1970 to 9999", ErrInvalid, year)
	}
	return nil
}

// encoder encodes lines. It reuses the formatted time within a millisecond.
type encoder struct {
	id    string
	milli int64 // time in stamp, Unix milliseconds
	stamp []byte
}

// append appends the line of e to dst. last is the time of the line before and milli that of the
// new line, in Unix milliseconds.
func (x *encoder) append(dst []byte, e *Entry, offset, last int64) (line []byte, milli int64, err error) {
	if err := e.validate(); err != nil {
		return dst, last, err
	}
	begin := len(dst)
	dst = append(dst, sumMark+"00000000;"+timeMark...)
	milli = max(e.Time.UnixMilli(), last)
	if len(x.stamp) == 0 || milli != x.milli {
		x.milli, x.stamp = milli, time.UnixMilli(milli).UTC().AppendFormat(x.stamp[:0], timeForm)
	}
	dst = append(dst, x.stamp...)
	dst = append(dst, msgidMark...)
	dst = append(dst, x.id...)
	dst = append(dst, '-')
	dst = strconv.AppendInt(dst, offset, 10)
	if e.Tags != "" {
		dst = append(dst, ';')
		dst = append(dst, e.Tags...)
	}
	if missing := minRedactable - e.redactableBytes(); missing > 0 {
		dst = append(dst, ";"+tagPad...)
		dst = append(dst, strings.Repeat("x", max(1, missing-len(tagPad)))...)
	}
	dst = append(dst, ' ')
	dst = append(dst, e.Body...)
	dst = append(dst, '\r', '\n')
	if len(dst)-begin > MaxLine {
		return dst[:begin], last, ErrTooLong
	}
	writeSum(dst[begin:])
	return dst, milli, nil
}

// redactableBytes counts the bytes that redaction may remove: source, tags and text.
func (e *Entry) redactableBytes() int {
	n := len(e.Tags)
	source := strings.IndexByte(e.Body, ' ')
	if source > 0 {
		n += source - 1
	}
	if text := strings.Index(e.Body, " :"); text >= 0 {
		n += len(e.Body) - text - 2
	}
	return n
}

// writeSum writes the checksum of a line into the line.
func writeSum(line []byte) {
	const hex = "0123456789abcdef"
	sum := crc32.Checksum(line[taggedAt:], castagnoli)
	for i := 7; i >= 0; i-- {
		line[sumAt+i] = hex[sum&15]
		sum >>= 4
	}
}
