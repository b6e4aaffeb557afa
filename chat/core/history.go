package core

import (
	"errors"
	"slices"
	"strings"
	"time"

	"weir/chat/irc"
	"weir/chat/log"
)

func (s *Session) cmdHistory(m *irc.Message) {
	req, code, text := irc.ParseHistory(m.Params, s.svc.Options().MaxHistory)
	if code != "" {
		s.fail("CHATHISTORY", code, irc.Cut(strings.ToUpper(irc.Param(m, 0)), 32), text)
		return
	}
	if req.Kind == "TARGETS" {
		s.startTask(func() { s.historyTargets(req) })
		return
	}
	s.startTask(func() { s.history(req) })
}

var errNoHistory = errors.New("no such history")

// history answers a CHATHISTORY request. It is a task.
func (s *Session) history(req irc.HistoryRequest) {
	f, err := s.readableConversation(req.Target)
	if err != nil {
		s.refuseHistory(req)
		return
	}
	end := f.waitDeliveredOffset(s.task)
	show, renameLine, isVisible := lineFormatter{view: s.caps.View(), replayTime: s.svc.now}, f.renamer(), visibility(s.caps)
	id, extra := s.newBatch()
	var text []byte
	n := 0
	s.task.await(func() {
		var lines []log.Line
		if lines, err = f.selectHistory(req, end, isVisible); err == nil {
			lines, err = f.completeMessages(lines)
		}
		// a line that completeMessages added may be hidden
		for _, line := range slices.DeleteFunc(lines, func(l log.Line) bool { return !isVisible(l) }) {
			text = show.appendLine(text, extra, renameLine(line))
		}
		n = len(lines)
	})
	if !s.mayRead(f) { // it was removed meanwhile
		s.refuseHistory(req)
		return
	}
	if errors.Is(err, errMsgID) {
		s.fail("CHATHISTORY", "INVALID_MSGREFTYPE", req.Kind, irc.Cut(req.Target, irc.MaxRoom), "No message here has this id")
		return
	}
	if err != nil {
		f.logReadError(err)
		s.fail("CHATHISTORY", "MESSAGE_ERROR", req.Kind, irc.Cut(req.Target, irc.MaxRoom), "Messages could not be retrieved")
		return
	}
	s.sendBatch(id, "chathistory", req.Target, text)
	s.svc.counts.Replayed += int64(n)
}

// refuseHistory answers a request for a conversation that the session may not read.
func (s *Session) refuseHistory(req irc.HistoryRequest) {
	s.fail("CHATHISTORY", "INVALID_TARGET", req.Kind, irc.Cut(req.Target, irc.MaxRoom), "Messages could not be retrieved: join the room first, or name an account with which you have direct messages")
}

// visibility returns a function that reports whether a client may see a stored line. Redacted lines
// are hidden; events require event-playback.
func visibility(caps irc.Caps) func(log.Line) bool {
	events := caps.Has(irc.CapEventPlayback)
	return func(line log.Line) bool { return !line.Redacted() && (events || isTextMessage(line)) }
}

// isTextMessage reports whether a line is a message, not an event.
func isTextMessage(line log.Line) bool {
	body := line.Plain()
	return isCommand(body, []byte("PRIVMSG ")) || isCommand(body, []byte("NOTICE "))
}

// newBatch returns the id of a batch, and the tag of its lines. Both are "" for a client that does
// not support batches.
func (s *Session) newBatch() (id, tag string) {
	if !s.has(irc.CapBatch) {
		return "", ""
	}
	id = s.svc.newBatchID()
	return id, "batch=" + id
}

// sendBatch sends lines in the batch of an id, or as they are if the id is "".
func (s *Session) sendBatch(id, kind, target string, lines []byte) {
	if id == "" {
		s.replies = append(s.replies, lines...)
		return
	}
	params := []string{"+" + id, kind}
	if target != "" {
		params = append(params, target)
	}
	s.reply("BATCH", params...)
	s.replies = append(s.replies, lines...)
	s.reply("BATCH", "-"+id)
}

// readableConversation returns the conversation of a target if the session may read it. It is a
// task.
func (s *Session) readableConversation(target string) (*conversation, error) {
	if r := s.svc.rooms[irc.Fold(target)]; r != nil && s.mayRead(&r.conversation) {
		return &r.conversation, nil
	}
	if irc.IsRoom(target) || s.user.account == "" || s.svc.env.Accounts.Lookup(target) == nil {
		return nil, errNoHistory
	}
	return s.svc.openDirect(s.task, s.user.account, target)
}

// mayRead reports whether the session may read a room, now. A direct conversation is opened for its
// partners only.
func (s *Session) mayRead(f *conversation) bool {
	r := f.room
	return r == nil || s.user != nil && !r.deleted && (s.user.rooms[r] != nil || s.user.oper)
}

// selectHistory returns the lines of a request, oldest first. No line of the answer is sent live
// after it. Every line later than the end that the answer saw is sent live, or has been already. So
// an answer to LATEST and the live messages meet without gap or duplicate. End is the offset up to
// which messages have been delivered. It waits for the disk.
func (f *conversation) selectHistory(req irc.HistoryRequest, end int64, visible func(log.Line) bool) ([]log.Line, error) {
	from, after, err := f.resolvePoint(req.From, end)
	if err != nil {
		return nil, err
	}
	n := req.Limit
	switch req.Kind {
	case "LATEST":
		if req.From.IsZero() {
			after = 0
		}
		return f.lastLines(after, end, n, visible)
	case "BEFORE":
		return f.lastLines(0, min(from, end), n, visible)
	case "AFTER":
		return f.firstLines(after, end, n, visible)
	case "AROUND":
		before, err := f.lastLines(0, min(from, end), n/2, visible)
		if err != nil {
			return nil, err
		}
		before = dropOldest(before, maxHistoryBytes/2)
		later, err := f.firstLines(from, end, n-len(before), visible)
		return append(before, dropNewest(later, maxHistoryBytes/2)...), err
	}
	to, afterTo, err := f.resolvePoint(req.To, end)
	if err != nil {
		return nil, err
	}
	if from <= to {
		return f.firstLines(after, min(to, end), n, visible)
	}
	return f.lastLines(afterTo, min(from, end), n, visible)
}

// maxHistoryBytes bounds the lines of one answer, because the client may not be reading. The lines
// farthest from the requested point are left out.
const maxHistoryBytes = Outbox / 2

// maxHistoryPages bounds how many pages an answer reads to find enough visible lines. Beyond it the
// answer has fewer lines.
const maxHistoryPages = 16

// historyPage is the least number of lines that an answer reads at once after its first page. So it
// passes many hidden lines also if its limit is small.
const historyPage = 256

// pageSize returns how many lines a page of an answer with a limit reads.
func pageSize(page, limit int) int {
	if page == 0 {
		return limit
	}
	return max(limit, historyPage)
}

// lastLines returns at most the last n visible lines from one offset to another.
func (f *conversation) lastLines(from, before int64, n int, visible func(log.Line) bool) (got []log.Line, err error) {
	for page := 0; len(got) < n && before > from && page < maxHistoryPages; page++ {
		lines, err := f.log.Latest(pageSize(page, n), before)
		if err != nil || len(lines) == 0 {
			return dropOldest(got, maxHistoryBytes), err
		}
		before = lines[0].Offset()
		lines = slices.DeleteFunc(lines, func(l log.Line) bool { return l.Offset() < from || !visible(l) })
		got = append(lines, got...)
	}
	return dropOldest(got[max(0, len(got)-n):], maxHistoryBytes), nil
}

// firstLines returns at most the first n visible lines from one offset to another.
func (f *conversation) firstLines(from, before int64, n int, visible func(log.Line) bool) (got []log.Line, err error) {
	for page := 0; len(got) < n && from < before && page < maxHistoryPages; page++ {
		lines, err := f.log.After(from, pageSize(page, n))
		if err != nil || len(lines) == 0 {
			return dropNewest(got, maxHistoryBytes), err
		}
		from = lines[len(lines)-1].Offset() + 1
		got = append(got, slices.DeleteFunc(lines, func(l log.Line) bool { return l.Offset() >= before || !visible(l) })...)
	}
	return dropNewest(got[:min(n, len(got))], maxHistoryBytes), nil
}

// dropNewest drops lines from the end until the rest has at most so many bytes.
func dropNewest(lines []log.Line, maxBytes int) []log.Line {
	size := 0
	for i, line := range lines {
		if size += len(line); size > maxBytes {
			return lines[:i]
		}
	}
	return lines
}

// resolvePoint returns the offset of a point and the offset behind it. For a time, these are the
// first message that is not earlier, and the first that is later. For "*" both are the end.
func (f *conversation) resolvePoint(p irc.Point, end int64) (at, after int64, err error) {
	switch {
	case p.MsgID != "":
		at, ok := f.offsetOfID(p.MsgID)
		if !ok {
			return 0, 0, errMsgID
		}
		return at, f.offsetAfter(at), nil
	case p.Time.IsZero():
		return end, end, nil
	}
	if at, err = f.log.Seek(p.Time); err == nil {
		after, err = f.log.Seek(p.Time.Truncate(time.Millisecond).Add(time.Millisecond))
	}
	return at, after, err
}

// offsetAfter returns the offset behind the message at an offset.
func (f *conversation) offsetAfter(at int64) int64 {
	if line, err := f.log.At(at); err == nil {
		if parts, err := f.partOffsets(line); err == nil && len(parts) > 0 {
			at = parts[len(parts)-1]
		}
	}
	return at + 1
}

var errMsgID = errors.New("no message here has this id")

// offsetOfID returns the offset that a msgid names; ok is false if the id is not one of this log.
func (f *conversation) offsetOfID(msgid string) (int64, bool) {
	room, offset, _ := strings.Cut(msgid, "-")
	n, err := parseInt(offset)
	return n, err == nil && room == f.log.ID()
}

// historyTargets lists the conversations with messages between two times. It is a task.
func (s *Session) historyTargets(req irc.HistoryRequest) {
	from, to := req.From.Time, req.To.Time
	if from.After(to) {
		from, to = to, from
	}
	type target struct {
		name string
		at   time.Time
	}
	var all []target
	for _, f := range s.ownConversations() {
		var lines []log.Line
		end, err := f.waitDeliveredOffset(s.task), error(nil)
		s.task.await(func() { lines, err = f.log.Latest(1, end) })
		if err != nil || len(lines) == 0 {
			continue
		}
		if at := lines[0].Time(); at.After(from) && at.Before(to) {
			all = append(all, target{f.nameFor(s), at})
		}
	}
	slices.SortFunc(all, func(a, b target) int { return a.at.Compare(b.at) })
	id, extra := s.newBatch()
	var text []byte
	for _, t := range all[:min(len(all), req.Limit)] {
		body := irc.AppendLine(nil, s.svc.fixed.Name, "CHATHISTORY", "TARGETS", t.name, t.at.UTC().Format(irc.TimeFormat))
		text = irc.AppendView(text, 0, extra, nil, body)
	}
	s.sendBatch(id, "draft/chathistory-targets", "", text)
}

// ownConversations returns the conversations of the session. It is a task.
func (s *Session) ownConversations() (all []*conversation) {
	for _, r := range s.user.sortedRooms() {
		all = append(all, &r.conversation)
	}
	if s.login.Account != nil {
		for _, other := range s.directPartners() {
			if f, err := s.svc.openDirect(s.task, s.login.Name, other); err == nil {
				all = append(all, f)
			}
		}
	}
	return all
}
