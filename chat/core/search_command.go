package core

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/chat/data"
	"weir/chat/environment"
	"weir/chat/internal/lobby"
	"weir/chat/irc"
	"weir/chat/log"
	"weir/chat/search"
)

// SEARCH (draft/search, https://github.com/ircv3/ircv3-specifications/pull/496, and soju.im/search,
// which differs only in its batch type). Searches have a worker pool of their own, so that logins
// and histories do not wait for them.

const (
	maxSearchResults = 100 // messages in the answer to one SEARCH
	// searches per second of an account or network, with bursts of ten seconds' worth
	searchesPerSecond = 2
	// a search that takes longer counts as several, so that no account uses more than a fifth of a
	// CPU
	searchCostUnit = time.Second / 10
)

// searchRequest is a parsed SEARCH.
type searchRequest struct {
	query search.Query
	limit int
	batch string // type of the batch that answers it; "": answered as text for people
}

func (s *Session) cmdSearch(m *irc.Message) {
	if s.svc.fixed.NoSearch {
		s.numeric(irc.ErrUnknownCommand, m.Command, "Searching is switched off")
		return
	}
	r, attrErr := s.searchRequest(strings.Join(m.Params, " "))
	if attrErr != nil {
		reason := []string{attrErr.Key, "The search was not understood: " + attrErr.Error()}
		if attrErr.Key == "" {
			reason = reason[1:]
		}
		s.fail("SEARCH", "INVALID_PARAMS", reason...)
		return
	}
	if wait := s.searchPace().wait(s.svc.now, searchesPerSecond); wait > 0 {
		s.fail("SEARCH", "RATE_LIMITED", "Too many searches: try again in "+strconv.Itoa(int(wait/time.Second)+1)+" s")
		return
	}
	s.svc.counts.Searches++
	s.work = append(s.work, work{SearchJobs, func() { s.search(r) }})
}

// searchRequest parses the request of a client: attributes if it supports them, and otherwise a
// query as people type it.
func (s *Session) searchRequest(text string) (r searchRequest, attrErr *search.AttributeError) {
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
	if errors.As(err, &attrErr) {
		return r, attrErr
	}
	if !s.has(irc.CapBatch) {
		r.batch = "" // without a batch, old messages would look like new ones
	}
	if r.limit = min(r.limit, maxSearchResults); r.limit == 0 {
		r.limit = maxSearchResults
	}
	return r, nil
}

// searchPace returns the rate limit of searches of the session's account or network.
func (s *Session) searchPace() *pace {
	if s.login.Account == nil {
		return &s.svc.networks[lobby.Network(s.peer.Addr)].searches
	}
	key := "search " + irc.Fold(s.login.Name)
	if s.svc.accountPaces[key] == nil {
		s.svc.accountPaces[key] = new(pace)
	}
	return s.svc.accountPaces[key]
}

// search answers a request. It is a task.
func (s *Session) search(r searchRequest) {
	allowed := s.readablePaths()
	if r.query.In != "" {
		path := s.conversationPath(r.query.In)
		if !allowed[path] {
			s.fail("SEARCH", "INVALID_PARAMS", "in", "Join the room first, or name an account with which you have direct messages")
			return
		}
		allowed, r.query.In = map[string]bool{path: true}, ""
	}
	var found []search.Result
	var err error
	var took time.Duration
	options := s.searchOptions(r, allowed)
	s.task.await(func() { found, took, err = s.svc.env.Searcher.Find(r.query, options) })
	s.chargeSearch(took)
	switch {
	case errors.Is(err, environment.ErrSearchTimeout):
		s.fail("SEARCH", "INTERNAL_ERROR", "The search took too long: ask for less, with in= or after=")
		return
	case err != nil:
		s.svc.fixed.Log.Error("a search failed", "error", err)
		s.fail("SEARCH", "INTERNAL_ERROR", "The search could not be run")
		return
	}
	now := s.readablePaths() // the user may have been removed from a room meanwhile
	found = slices.DeleteFunc(dropExcessResults(found), func(h search.Result) bool { return !now[h.Path] })
	if !options.OldestFirst {
		slices.Reverse(found)
	}
	if r.batch == "" {
		s.sendResultsAsText(found)
		return
	}
	id, extra := s.newBatch()
	s.sendBatch(id, r.batch, "", s.resultLines(found, extra))
}

// chargeSearch counts a slow search as several.
func (s *Session) chargeSearch(took time.Duration) {
	s.searchPace().charge(s.svc.now, searchesPerSecond, int(took/searchCostUnit))
}

// searchOptions returns the options of a search in the conversations of some paths.
func (s *Session) searchOptions(r searchRequest, paths map[string]bool) search.Options {
	o := search.Options{RoomPaths: []string{}, Limit: r.limit, OldestFirst: !r.query.After.IsZero() && r.query.Before.IsZero(), MessagesOnly: true, Lagging: s.svc.conversationsToScan(paths)}
	for path := range paths {
		o.RoomPaths = append(o.RoomPaths, path)
	}
	return o
}

// readablePaths returns the paths of the conversations of the session's user. It is a task.
func (s *Session) readablePaths() map[string]bool {
	allowed := map[string]bool{}
	if s.user == nil {
		return allowed
	}
	for r := range s.user.rooms {
		allowed[data.RoomPath(r.name)] = true
	}
	if account := s.user.account; account != "" {
		var partners []string
		s.task.await(func() { partners = s.svc.env.Storage.DirectPartners(account) })
		for _, other := range partners {
			allowed[directPath(account, other)] = true
		}
	}
	return allowed
}

// conversationPath returns the path of the conversation that the user names: a room, an account
// that it talks to, or two accounts.
func (s *Session) conversationPath(name string) string {
	if irc.IsRoom(name) {
		return data.RoomPath(name)
	}
	if room, err := data.Named(name); err == nil {
		return room.Path
	}
	return directPath(s.login.Name, name)
}

// dropExcessResults drops results from the end until the rest fits into the outbox of a client that
// has read nothing yet.
func dropExcessResults(found []search.Result) []search.Result {
	size := 0
	for i, h := range found {
		if size += len(h.Line); size > maxReplayBytes {
			return found[:i]
		}
	}
	return found
}

// resultLines returns the messages that were found as lines. It is a task.
func (s *Session) resultLines(found []search.Result, extra string) (text []byte) {
	view := s.caps.View()
	for _, h := range found {
		show, tags := lineFormatter{view: view &^ irc.ViewMultiline}, extra
		f := s.svc.conversationAt(h.Path)
		if f == nil { // a direct conversation that is not open
			text = show.appendLine(text, tags, h.Line)
			continue
		}
		// a line of a multiline message is sent alone, with the id of the whole
		if p, _ := partOf(h.Line); p.n > 0 && view&irc.ViewTags != 0 {
			id := ""
			if s.task.await(func() { id = f.firstPartID(h.Line) }); id != "" {
				tags = irc.JoinTags(tags, "msgid="+id)
			}
		}
		text = show.appendLine(text, tags, f.renamer()(h.Line))
	}
	return text
}

// firstPartID returns the id of the multiline message of which a line is a later part; "" if it is
// none, or the first part is missing. It waits for the disk.
func (f *conversation) firstPartID(line log.Line) string {
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

// sendResultsAsText sends the results as notices, to clients without support for SEARCH.
func (s *Session) sendResultsAsText(found []search.Result) {
	nick := s.nick()
	for _, h := range found {
		_, text, _ := bytes.Cut(h.Line.Plain()[1:], []byte(" :"))
		words := strings.Trim(strings.TrimPrefix(string(bytes.TrimRight(text, "\r\n")), "\x01ACTION"), "\x01 ")
		s.reply("NOTICE", nick, irc.Cut(h.Time.UTC().Format("2006-01-02 15:04")+" "+h.Room+" <"+h.Nick+"> "+words, 400))
	}
	s.reply("NOTICE", nick, "Search: "+strconv.Itoa(len(found))+" found")
}
