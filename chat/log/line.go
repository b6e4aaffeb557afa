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

// MaxLine is the longest stored line in bytes, its CR LF included.
const MaxLine = 16 << 10

// Places in a stored line: everything up to the room's id has a fixed width.
//
//	@weir/sum=SSSSSSSS;time=2026-11-21T11:30:00.123Z;msgid=abcdefgh-123;account=ann :ann!u@h PRIVMSG #r :hello\r\n
//	0         10       19   24                       48     55       64
const (
	sumMark   = "@weir/sum="
	timeMark  = "time="
	msgidMark = ";msgid="
	timeForm  = "2006-01-02T15:04:05.000Z"

	sumAt    = len(sumMark)
	taggedAt = sumAt + 8 + 1 // behind the sum's ';'
	timeAt   = taggedAt + len(timeMark)
	markAt   = timeAt + len(timeForm)
	msgidAt  = markAt + len(msgidMark)
	idSize   = 8
	offsetAt = msgidAt + idSize + 1
	minLine  = offsetAt + len("0 :s C\r\n")
)

// Reserved tags.
const (
	tagRedacted = "weir/redacted"
	tagPad      = "weir/pad="
)

// spare is how many bytes of source, tags and text a line has at least, so that it can be redacted
// in place: a line that has fewer is padded.
const spare = 16

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Entry is a message to be stored. The caller may use its memory again after Append.
type Entry struct {
	// years 1970 to 9999; kept to the millisecond, and never earlier than the line before
	Time time.Time
	// further tags, escaped as in IRC, with ';' between them and none around them; may be ""
	Tags string
	Body string // ":nick!user@host PRIVMSG #room :text", without CR LF
}

// Line is a stored line, its CR LF included, that was found whole. It is a view of its reader's
// memory.
type Line []byte

// Offset is the logical offset of the line's first byte.
func (l Line) Offset() int64 {
	n, _ := l.offset()
	return n
}

// offset also returns where the msgid ends.
func (l Line) offset() (n int64, end int) {
	for end = offsetAt; l[end] >= '0' && l[end] <= '9'; end++ {
		n = n*10 + int64(l[end]-'0')
	}
	return n, end
}

// Time is when the line was stored, UTC.
func (l Line) Time() time.Time {
	t, _ := parseTime(l[timeAt:markAt])
	return t
}

// MsgID is the room's id, '-', and the offset.
func (l Line) MsgID() string {
	_, end := l.offset()
	return string(l[msgidAt:end])
}

// Tagged is the line from "time=" on: '@' and it are what a client that knows tags is sent.
func (l Line) Tagged() []byte { return l[taggedAt:] }

// Plain is the line from ':' on, for a client without tags.
func (l Line) Plain() []byte { return l[bytes.IndexByte(l, ' ')+1:] }

// Tag is the value of a tag behind msgid, escaped as it is stored, and whether the line has it.
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

// Redacted says whether the line's text was taken away.
func (l Line) Redacted() bool { _, ok := l.Tag(tagRedacted); return ok }

// check returns b as a Line if it is whole: its form is right, and its sum is that of its bytes.
func check(b []byte) (Line, bool) {
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

// wellFormed looks at what the accessors rely on, which a right sum alone does not promise.
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

// isMessage says whether b has a source and a command.
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

// isID says whether b is a room's id: 8 characters of a-z and 2-7.
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

// number reads decimal digits; ok is false if there is anything else.
func number(b []byte) (n int, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// parseTime reads the 24 bytes of a time.
func parseTime(b []byte) (time.Time, bool) {
	if b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' || b[19] != '.' || b[23] != 'Z' {
		return time.Time{}, false
	}
	year, ok1 := number(b[:4])
	month, ok2 := number(b[5:7])
	day, ok3 := number(b[8:10])
	hour, ok4 := number(b[11:13])
	minute, ok5 := number(b[14:16])
	second, ok6 := number(b[17:19])
	milli, ok7 := number(b[20:23])
	ok := ok1 && ok2 && ok3 && ok4 && ok5 && ok6 && ok7 && month >= 1 && month <= 12 && day >= 1 && day <= 31 &&
		hour < 24 && minute < 60 && second < 60
	return time.Date(year, time.Month(month), day, hour, minute, second, milli*1e6, time.UTC), ok
}

// Errors of Append. Test with errors.Is.
var (
	// ErrTooLong: an entry would be longer than MaxLine as a line. Nothing of its batch is stored.
	ErrTooLong = fmt.Errorf("chat/log: a line is longer than %d bytes", MaxLine)
	// ErrInvalid: an entry is no message. Nothing of its batch is stored.
	ErrInvalid = errors.New("chat/log: not a message")
)

// validate says what is wrong with an entry.
func (e *Entry) validate() error {
	switch {
	case !isMessage(e.Body):
		return fmt.Errorf("%w: it must begin with ':' and a source, then have a command", ErrInvalid)
	case strings.IndexByte(e.Body, '\n') >= 0 || strings.IndexByte(e.Body, '\r') >= 0 || strings.IndexByte(e.Body, 0) >= 0:
		return fmt.Errorf("%w: it has a CR, LF or NUL", ErrInvalid)
	case strings.ContainsAny(e.Tags, " \r\n\x00") || strings.HasPrefix(e.Tags, ";") || strings.HasSuffix(e.Tags, ";"):
		return fmt.Errorf("%w: its tags have a blank, a CR, LF or NUL, or a ';' at an end", ErrInvalid)
	}
	if year := e.Time.UTC().Year(); year < 1970 || year > 9999 {
		return fmt.Errorf("%w: its time is in the year %d", ErrInvalid, year)
	}
	return nil
}

// encoder makes lines. Equal milliseconds are formatted once.
type encoder struct {
	id    string
	milli int64 // what stamp says, in Unix milliseconds
	stamp []byte
}

// append adds the line of e to dst. last is the time of the line before, in Unix milliseconds, and
// the result's time is what was written.
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
	if missing := spare - e.spare(); missing > 0 {
		dst = append(dst, ";"+tagPad...)
		dst = append(dst, strings.Repeat("x", max(1, missing-len(tagPad)))...)
	}
	dst = append(dst, ' ')
	dst = append(dst, e.Body...)
	dst = append(dst, '\r', '\n')
	if len(dst)-begin > MaxLine {
		return dst[:begin], last, ErrTooLong
	}
	seal(dst[begin:])
	return dst, milli, nil
}

// spare counts the bytes that redaction may take: source, tags and text.
func (e *Entry) spare() int {
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

// seal writes the sum of a line into it.
func seal(line []byte) {
	const hex = "0123456789abcdef"
	sum := crc32.Checksum(line[taggedAt:], castagnoli)
	for i := 7; i >= 0; i-- {
		line[sumAt+i] = hex[sum&15]
		sum >>= 4
	}
}
