package chat

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/chat/data"
	"weir/chat/internal/lobby"
	"weir/chat/irc"
	"weir/chat/log"
	"weir/chat/search"
)

// SEARCH (draft/search, https://github.com/ircv3/ircv3-specifications/pull/496, and soju.im/search,
// which is the same but for its batch's name). Searches have workers of their own, so that logins
// and histories do not wait for them.

const (
	searchHits   = 100             // messages at most of one SEARCH
	searchWithin = 5 * time.Second // how long one may take
	searchPace   = 2               // a second of an account or address, ten times as many at once
	// how long a search may take; one that takes longer counts as more, so that nobody has more
	// than a fifth of a processor
	searchUsual = time.Second / 10
)

// searchRequest is a SEARCH that was understood.
type searchRequest struct {
	query search.Query
	limit int
	batch string // kind of the batch that it is answered with; "" is as text for people
}

func (s *session) cmdSearch(m *irc.Message) {
	if s.svc.o.NoSearch {
		s.num(irc.ErrUnknownCommand, m.Command, "Searching is switched off")
		return
	}
	r, bad := s.searchRequest(strings.Join(m.Params, " "))
	if bad != nil {
		why := []string{bad.Key, "The search was not understood: " + bad.Error()}
		if bad.Key == "" {
			why = why[1:]
		}
		s.fail("SEARCH", "INVALID_PARAMS", why...)
		return
	}
	if wait := s.searchPace().wait(s.svc.o.Now(), searchPace); wait > 0 {
		s.fail("SEARCH", "RATE_LIMITED", "Too many searches: try again in "+strconv.Itoa(int(wait/time.Second)+1)+" s")
		return
	}
	s.svc.counts.searches.Add(1)
	s.seeks = true
	s.slow(func() { s.search(r) })
}

// searchRequest reads what a client asks for: attributes if it knows them, and otherwise a query as
// people type it.
func (s *session) searchRequest(text string) (r searchRequest, bad *search.AttributeError) {
	var err error
	switch {
	case s.has(irc.CapSojuSearch):
		r.batch = "soju.im/search"
	case s.has(irc.CapSearch):
		r.batch = "search"
	}
	if r.batch != "" {
		r.query, r.limit, err = search.ParseAttributes(text)
	} else if r.query, err = search.Parse(text); err != nil {
		err = &search.AttributeError{Text: strings.TrimPrefix(err.Error(), search.ErrQuery.Error()+": ")}
	}
	if errors.As(err, &bad) {
		return r, bad
	}
	if !s.has(irc.CapBatch) {
		r.batch = "" // or what was said once would look as if it were said now
	}
	if r.limit = min(r.limit, searchHits); r.limit == 0 {
		r.limit = searchHits
	}
	return r, nil
}

// searchPace is the pace of the searches of the session's account, or address. The caller holds the
// lock.
func (s *session) searchPace() *pace {
	if s.login.Account == nil {
		return &s.svc.perAddr[lobby.Network(s.peer.Addr)].searches
	}
	key := "search " + irc.Fold(s.login.Name)
	if s.svc.paces[key] == nil {
		s.svc.paces[key] = new(pace)
	}
	return s.svc.paces[key]
}

// search answers a request. It runs at the searchers' desk.
func (s *session) search(r searchRequest) {
	defer s.tookSearch(time.Now())
	mine := s.readable()
	if r.query.In != "" {
		path := s.pathOf(r.query.In)
		if !mine[path] {
			s.fail("SEARCH", "INVALID_PARAMS", "in", "You have to be in the room, or one of the two who talk")
			return
		}
		mine, r.query.In = map[string]bool{path: true}, ""
	}
	found, err := s.find(r, mine)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		s.fail("SEARCH", "INTERNAL_ERROR", "The search took too long: ask for less, with in= or after=")
		return
	case err != nil:
		s.svc.o.Log.Error("a search failed", "error", err)
		s.fail("SEARCH", "INTERNAL_ERROR", "The search could not be run")
		return
	}
	now := s.readable() // somebody may have been thrown out meanwhile
	found = slices.DeleteFunc(found, func(h search.Result) bool { return !now[h.Path] })
	if r.batch == "" {
		s.tellFound(found)
		return
	}
	s.batchOf(r.batch, "", func(extra string) {
		for _, h := range found {
			s.out = s.appendFound(s.out, extra, h)
		}
	})
}

// tookSearch counts a search that has ended as more than one if it took long.
func (s *session) tookSearch(began time.Time) {
	more := int(time.Since(began) / searchUsual)
	s.svc.locked(func() { s.searchPace().charge(s.svc.o.Now(), searchPace, more) })
}

// find looks for messages, the oldest first.
func (s *session) find(r searchRequest, mine map[string]bool) ([]search.Result, error) {
	ctx, cancel := context.WithTimeout(s.svc.life, searchWithin)
	defer cancel()
	x, err := s.svc.searchIndex()
	if err != nil {
		return nil, err
	}
	o := search.Options{Rooms: []string{}, Limit: r.limit, Oldest: !r.query.After.IsZero() && r.query.Before.IsZero(), Messages: true, Behind: s.svc.searchedByLine(mine)}
	for path := range mine {
		o.Rooms = append(o.Rooms, path)
	}
	found, err := x.Find(ctx, r.query, o)
	if ctx.Err() != nil {
		return nil, ctx.Err() // the database has words of its own for it
	}
	found = fitting(found)
	if !o.Oldest {
		slices.Reverse(found)
	}
	return found, err
}

// readable are the paths of the conversations that the session's user takes part in.
func (s *session) readable() map[string]bool {
	mine := map[string]bool{}
	s.svc.mu.Lock()
	account := ""
	if s.user != nil {
		account = s.user.account
		for r := range s.user.rooms {
			mine[roomPath(r.name)] = true
		}
	}
	s.svc.mu.Unlock()
	if account != "" {
		for _, other := range s.svc.conversations(account) {
			mine[directPath(account, other)] = true
		}
	}
	return mine
}

// pathOf is where what the user calls so is: a room, an account that it talks to, or two accounts.
func (s *session) pathOf(name string) string {
	if irc.IsRoom(name) {
		return roomPath(name)
	}
	if room, err := data.Named(name); err == nil {
		return room.Path
	}
	return directPath(s.login.Name, name)
}

// fitting drops the last results until the rest fits into the outbox of a client that has taken
// nothing yet.
func fitting(found []search.Result) []search.Result {
	size := 0
	for i, h := range found {
		if size += len(h.Line); size > replayBytes {
			return found[:i]
		}
	}
	return found
}

// appendFound appends a message that was found. A part of a long message comes by itself, with the
// id of the whole.
func (s *session) appendFound(dst []byte, extra string, h search.Result) []byte {
	v := s.capSet().View()
	show := shown{view: v &^ irc.ViewMultiline}
	f := s.svc.feedAt(h.Path)
	if f == nil { // a direct conversation in which nobody says anything
		return show.append(dst, extra, h.Line)
	}
	if id := f.wholeID(h.Line); v&irc.ViewTags != 0 && id != "" {
		extra = irc.JoinTags(extra, "msgid="+id)
	}
	return show.append(dst, extra, f.asNow()(h.Line))
}

// wholeID is the id of the message that a line is a further part of; "" if it is none, or that
// can't be said.
func (f *feed) wholeID(line log.Line) string {
	p, _ := partOf(line)
	if p.n == 0 {
		return ""
	}
	lines, err := f.log.Latest(p.n, line.Offset())
	if err != nil || len(lines) == 0 {
		return ""
	}
	if first, _ := partOf(lines[0]); first.message != p.message || first.n != 0 {
		return ""
	}
	return lines[0].MsgID()
}

// tellFound tells people what was found, whose clients don't know how to show it.
func (s *session) tellFound(found []search.Result) {
	s.svc.mu.Lock()
	nick := s.nick()
	s.svc.mu.Unlock()
	for _, h := range found {
		_, text, _ := bytes.Cut(h.Line.Plain()[1:], []byte(" :"))
		words := strings.Trim(strings.TrimPrefix(string(bytes.TrimRight(text, "\r\n")), "\x01ACTION"), "\x01 ")
		s.say("NOTICE", nick, irc.Cut(h.Time.UTC().Format("2006-01-02 15:04")+" "+h.Room+" <"+h.Nick+"> "+words, 400))
	}
	s.say("NOTICE", nick, "Search: "+strconv.Itoa(len(found))+" found")
}
