package chat

import (
	"strings"

	"weir/chat/irc"
)

// multiline is a message of several lines that a client is sending as a batch (draft/multiline).
type multiline struct {
	ref, label string
	message    message
	bytes      int
	bad        string // the code of the FAIL that its end is answered with; "" so far
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
	case ref != b.ref || m.Params == nil || irc.Fold(m.Params[0]) != irc.Fold(b.message.target),
		b.message.verb != "" && b.message.verb != m.Command, concat && text == "":
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
	switch b.bad {
	case "":
		b.message.batch = "ml" + s.svc.passingID()
		s.user.spoke = s.svc.o.Now()
		s.message(&b.message)
	case "MULTILINE_MAX_LINES":
		s.fail("BATCH", b.bad, itoa(irc.MultilineLines), "The message has too many lines")
	case "MULTILINE_MAX_BYTES":
		s.fail("BATCH", b.bad, itoa(irc.MultilineBytes), "The message has too many bytes")
	default:
		s.fail("BATCH", b.bad, "The lines of a message have one target and one command, and are not all empty")
	}
}
