package chat

import (
	"slices"
	"strings"

	"weir/chat/irc"
	"weir/chat/log"
)

// multiline is a message of several lines that a client is sending as a batch (draft/multiline).
type multiline struct {
	ref, label string
	message    message
	bytes      int
	// the code of the FAIL that its end is answered with, and a context behind a space; "" so far
	bad string
}

func (s *session) cmdBatch(m *irc.Message) {
	ref := m.Params[0]
	switch {
	case s.multi == nil && strings.HasPrefix(ref, "+") && irc.Param(m, 1) == "draft/multiline" && irc.Param(m, 2) != "" && s.has(irc.CapMultiline):
		s.multi = &multiline{ref: ref[1:], label: s.label, message: message{target: m.Params[2], tags: irc.ClientTags(m)}}
		s.label = "" // its end is the reply
	case s.multi != nil && ref == "-"+s.multi.ref:
		s.endMultiline()
	case strings.HasPrefix(ref, "+") && irc.Param(m, 1) != "draft/multiline":
		s.fail("BATCH", "UNKNOWN_TYPE", irc.Cut(irc.Param(m, 1), 64), "This type of batch is not known")
	default:
		s.multi = nil
		s.fail("BATCH", "MULTILINE_INVALID", "A batch begins once, with a target, and ends by its own name")
	}
}

// addPart takes a line of the batch.
func (s *session) addPart(ref string, m *irc.Message) {
	b := s.multi
	if b.bad != "" {
		return
	}
	text := irc.Param(m, 1)
	concat, _ := m.GetTag("draft/multiline-concat")
	b.bytes += len(text)
	if !concat && len(b.message.lines) > 0 {
		b.bytes++ // the line end
	}
	switch {
	case ref == b.ref && irc.Fold(irc.Param(m, 0)) != irc.Fold(b.message.target):
		b.bad = "MULTILINE_INVALID_TARGET " + irc.Word(irc.Cut(irc.Param(m, 0), irc.MaxRoom))
	case ref != b.ref, b.message.verb != "" && b.message.verb != m.Command, concat && text == "":
		b.bad = "MULTILINE_INVALID"
	case len(b.message.lines) == irc.MultilineLines:
		b.bad = "MULTILINE_MAX_LINES"
	case b.bytes > irc.MultilineBytes:
		b.bad = "MULTILINE_MAX_BYTES"
	default:
		b.message.verb = m.Command
		b.message.lines = append(b.message.lines, part{text, concat})
	}
}

// endMultiline sends what was collected.
func (s *session) endMultiline() {
	b := s.multi
	s.multi = nil
	s.label = b.label
	blank := true
	for _, line := range b.message.lines {
		blank = blank && line.text == ""
	}
	if b.bad == "" && blank {
		b.bad = "MULTILINE_INVALID"
	}
	switch code, context, _ := strings.Cut(b.bad, " "); code {
	case "":
		b.message.batch = "ml" + s.svc.passingID()
		s.user.spoke = s.svc.o.Now()
		s.message(&b.message)
	case "MULTILINE_MAX_LINES":
		s.fail("BATCH", code, itoa(irc.MultilineLines), "The message has too many lines")
	case "MULTILINE_MAX_BYTES":
		s.fail("BATCH", code, itoa(irc.MultilineBytes), "The message has too many bytes")
	case "MULTILINE_INVALID_TARGET":
		s.fail("BATCH", code, irc.Word(irc.Cut(b.message.target, irc.MaxRoom)), context, "The lines of a message have the target of their batch")
	default:
		s.fail("BATCH", code, "The lines of a message have one target and one command, and are not all empty")
	}
}

// A long message is several lines of the log, which stand behind each other and were stored at
// once.

// multilineTag joins the lines of one long message: its value is BATCH.NUMBER.OF, the number from 0.
const multilineTag = irc.OwnTags + "batch"

// longPart is a line's place in a long message: the n-th of so many, from 0.
type longPart struct {
	message string
	n, of   int
}

// partOf says which long message a line is a part of, if it is one.
func partOf(line log.Line) (p longPart, ok bool) {
	value, ok := line.Tag(multilineTag)
	id, numbers, _ := strings.Cut(value, ".")
	n, of, _ := strings.Cut(numbers, ".")
	return longPart{id, number(n), number(of)}, ok
}

// partsFrom are the offsets of a line and of the parts behind it that the same message has.
func (f *feed) partsFrom(line log.Line) (parts []int64, err error) {
	first, _ := partOf(line)
	lines, err := f.log.After(line.Offset(), max(1, first.of-first.n))
	for _, next := range ofMessage(lines, first) {
		parts = append(parts, next.Offset())
	}
	return parts, err
}

// whole adds to lines that follow each other what they lack of the messages that they begin and end
// in.
func (f *feed) whole(lines []log.Line) ([]log.Line, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	begin, end := lines[0], lines[len(lines)-1]
	first, _ := partOf(begin)
	last, _ := partOf(end)
	if first.n > 0 {
		before, err := f.log.Latest(first.n, begin.Offset())
		if err != nil {
			return nil, err
		}
		lines = slices.Concat(ofMessage(before, first), lines)
	}
	if last.n+1 < last.of {
		behind, err := f.log.After(end.Offset()+1, last.of-last.n-1)
		if err != nil {
			return nil, err
		}
		lines = slices.Concat(lines, ofMessage(behind, last))
	}
	return lines, nil
}

// ofMessage are those lines that are parts of the same message as another.
func ofMessage(lines []log.Line, as longPart) []log.Line {
	return slices.DeleteFunc(lines, func(l log.Line) bool {
		p, _ := partOf(l)
		return p.message != as.message
	})
}
