package chat

import (
	"errors"
	"slices"
	"strings"
	"time"

	"weir/chat/irc"
	"weir/chat/log"
)

func (s *session) cmdHistory(m *irc.Message) {
	req, code, text := irc.ParseHistory(m.Params, s.svc.opts().History)
	if code != "" {
		s.fail("CHATHISTORY", code, irc.Cut(strings.ToUpper(irc.Param(m, 0)), 32), text)
		return
	}
	if req.Kind == "TARGETS" {
		s.slow(func() { s.historyTargets(req) })
		return
	}
	s.slow(func() { s.history(req) })
}

var errNoHistory = errors.New("no such history")

// history answers a request. It runs at the desk.
func (s *session) history(req irc.HistoryRequest) {
	f, err := s.feedOf(req.Target)
	if err != nil {
		s.fail("CHATHISTORY", "INVALID_TARGET", req.Kind, irc.Cut(req.Target, irc.MaxRoom), "Messages could not be retrieved: you have to be in the room, or one of the two who talk")
		return
	}
	lines, err := s.pick(f, req)
	if err == nil {
		lines, err = f.whole(lines)
	}
	if errors.Is(err, errMsgID) {
		s.fail("CHATHISTORY", "INVALID_MSGREFTYPE", req.Kind, irc.Cut(req.Target, irc.MaxRoom), "No message here has this id")
		return
	}
	if err != nil {
		s.complain(f, err)
		s.fail("CHATHISTORY", "MESSAGE_ERROR", req.Kind, irc.Cut(req.Target, irc.MaxRoom), "Messages could not be retrieved")
		return
	}
	s.batchOf("chathistory", req.Target, func(extra string) {
		show, asNow := shown{view: s.capSet().View()}, f.asNow()
		// a part that was added may be none
		for _, line := range slices.DeleteFunc(lines, func(l log.Line) bool { return !s.isShown(l) }) {
			s.out = show.append(s.out, extra, asNow(line))
		}
	})
	s.svc.counts.replayed.Add(int64(len(lines)))
}

// isShown says whether the client is shown a stored line: nobody is what was redacted, and some
// want no events.
func (s *session) isShown(line log.Line) bool {
	return !line.Redacted() && (s.has(irc.CapEventPlayback) || isText(line))
}

// isText says whether a line is a message, rather than an event.
func isText(line log.Line) bool {
	body := line.Plain()
	return isCommand(body, []byte("PRIVMSG ")) || isCommand(body, []byte("NOTICE "))
}

// batchOf sends lines in a batch, where the client knows such.
func (s *session) batchOf(kind, target string, lines func(extra string)) {
	if !s.has(irc.CapBatch) {
		lines("")
		return
	}
	id := s.svc.batchName()
	params := []string{"+" + id, kind}
	if target != "" {
		params = append(params, target)
	}
	s.say("BATCH", params...)
	lines("batch=" + id)
	s.say("BATCH", "-"+id)
}

// feedOf is the conversation that the session may read under a name. It runs at the desk.
func (s *session) feedOf(target string) (*feed, error) {
	s.svc.mu.Lock()
	r := s.svc.rooms[irc.Fold(target)]
	if r != nil && (s.user.rooms[r] != nil || s.user.oper) {
		defer s.svc.mu.Unlock()
		return &r.feed, nil
	}
	mine := s.user.account
	s.svc.mu.Unlock()
	if irc.IsRoom(target) || mine == "" || s.svc.accounts.Lookup(target) == nil {
		return nil, errNoHistory
	}
	return s.svc.openDirect(mine, target)
}

// pick reads what a request asks for, oldest first. What a client can rely on: nothing that the
// answer holds comes live behind it, and all that is later than the end that the answer knew does,
// or has come already: an answer to LATEST and what comes live meet without a gap and without a
// double.
func (s *session) pick(f *feed, req irc.HistoryRequest) ([]log.Line, error) {
	end := f.sent()
	from, after, err := f.place(req.From, end)
	if err != nil {
		return nil, err
	}
	n, shown := req.Limit, s.isShown
	switch req.Kind {
	case "LATEST":
		if req.From.IsZero() {
			after = 0
		}
		return f.newest(after, end, n, shown)
	case "BEFORE":
		return f.newest(0, min(from, end), n, shown)
	case "AFTER":
		return f.ahead(after, end, n, shown)
	case "AROUND":
		before, err := f.newest(0, min(from, end), n/2, shown)
		if err != nil {
			return nil, err
		}
		before = fit(before, historyBytes/2)
		behind, err := f.ahead(from, end, n-len(before), shown)
		return append(before, fitFirst(behind, historyBytes/2)...), err
	}
	to, afterTo, err := f.place(req.To, end)
	if err != nil {
		return nil, err
	}
	if from <= to {
		return f.ahead(after, min(to, end), n, shown)
	}
	return f.newest(afterTo, min(from, end), n, shown)
}

// historyBytes bounds the lines of one answer, of which a client may take nothing: what is left out
// is farthest from where it asked.
const historyBytes = Outbox / 2

// historyPages is how often an answer reads on for want of lines that the client is shown: beyond
// so many that it is not, it has fewer.
const historyPages = 16

// newest are the last n lines that the client is shown, from an offset to another, or fewer.
func (f *feed) newest(from, before int64, n int, shown func(log.Line) bool) (got []log.Line, err error) {
	for page := 0; len(got) < n && before > from && page < historyPages; page++ {
		lines, err := f.log.Latest(n, before)
		if err != nil || len(lines) == 0 {
			return fit(got, historyBytes), err
		}
		before = lines[0].Offset()
		lines = slices.DeleteFunc(lines, func(l log.Line) bool { return l.Offset() < from || !shown(l) })
		got = append(lines, got...)
	}
	return fit(got[max(0, len(got)-n):], historyBytes), nil
}

// ahead are the first n lines that the client is shown, from an offset to another, or fewer.
func (f *feed) ahead(from, before int64, n int, shown func(log.Line) bool) (got []log.Line, err error) {
	for page := 0; len(got) < n && from < before && page < historyPages; page++ {
		lines, err := f.log.After(from, n)
		if err != nil || len(lines) == 0 {
			return fitFirst(got, historyBytes), err
		}
		from = lines[len(lines)-1].Offset() + 1
		got = append(got, slices.DeleteFunc(lines, func(l log.Line) bool { return l.Offset() >= before || !shown(l) })...)
	}
	return fitFirst(got[:min(n, len(got))], historyBytes), nil
}

// fitFirst drops the last lines until the rest has at most so many bytes.
func fitFirst(lines []log.Line, most int) []log.Line {
	size := 0
	for i, line := range lines {
		if size += len(line); size > most {
			return lines[:i]
		}
	}
	return lines
}

// place is the offset of a point, and where it goes on behind it: of a message, or of the first
// that is not earlier than a time and the first that is later. "*" is the end.
func (f *feed) place(p irc.Point, end int64) (at, after int64, err error) {
	switch {
	case p.MsgID != "":
		at, ok := f.offsetOf(p.MsgID)
		if !ok {
			return 0, 0, errMsgID
		}
		return at, f.behind(at), nil
	case p.Time.IsZero():
		return end, end, nil
	}
	if at, err = f.log.Seek(p.Time); err == nil {
		after, err = f.log.Seek(p.Time.Truncate(time.Millisecond).Add(time.Millisecond))
	}
	return at, after, err
}

// behind is where it goes on behind the message at an offset.
func (f *feed) behind(at int64) int64 {
	if line, err := f.log.At(at); err == nil {
		if parts, err := f.partsFrom(line); err == nil && len(parts) > 0 {
			at = parts[len(parts)-1]
		}
	}
	return at + 1
}

var errMsgID = errors.New("no message here has this id")

// offsetOf is where the message of an id is, if the id is one of this log's.
func (f *feed) offsetOf(msgid string) (int64, bool) {
	room, offset, _ := strings.Cut(msgid, "-")
	n, err := parseInt(offset)
	return n, err == nil && room == f.log.ID()
}

// historyTargets lists the conversations with messages between two times. It runs at the desk.
func (s *session) historyTargets(req irc.HistoryRequest) {
	from, to := req.From.Time, req.To.Time
	if from.After(to) {
		from, to = to, from
	}
	type target struct {
		name string
		at   time.Time
	}
	var all []target
	for _, f := range s.myFeeds() {
		if lines, err := f.log.Latest(1, f.sent()); err == nil && len(lines) == 1 {
			if at := lines[0].Time(); at.After(from) && at.Before(to) {
				all = append(all, target{f.target(s), at})
			}
		}
	}
	slices.SortFunc(all, func(a, b target) int { return a.at.Compare(b.at) })
	s.batchOf("draft/chathistory-targets", "", func(extra string) {
		for _, t := range all[:min(len(all), req.Limit)] {
			body := irc.AppendLine(nil, s.svc.o.Name, "CHATHISTORY", "TARGETS", t.name, t.at.UTC().Format(irc.TimeFormat))
			s.out = irc.AppendView(s.out, 0, extra, nil, body)
		}
	})
}

// myFeeds are the conversations that the session takes part in. It runs at the desk.
func (s *session) myFeeds() []*feed {
	var all []*feed
	s.svc.mu.Lock()
	for r := range s.user.rooms {
		all = append(all, &r.feed)
	}
	s.svc.mu.Unlock()
	if s.login.Account != nil {
		for _, other := range s.svc.conversations(s.login.Name) {
			if f, err := s.svc.openDirect(s.login.Name, other); err == nil {
				all = append(all, f)
			}
		}
	}
	return all
}
