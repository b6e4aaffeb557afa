package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"weir/chat/data"
	"weir/chat/irc"
	"weir/chat/log"
)

// HighlightStart and HighlightEnd enclose a matched word in a snippet.
const (
	HighlightStart = '\x02'
	HighlightEnd   = '\x03'
)

// MaxLimit is the maximum number of results of one call.
const MaxLimit = 500

// Options are the options of Find.
type Options struct {
	// Paths (data.Room.Path) of the rooms that the caller may read. Nil means all rooms; empty
	// means none.
	RoomPaths    []string
	Limit        int  // 1 to MaxLimit; 0 means 20
	OldestFirst  bool // the oldest results, in ascending order, instead of the newest
	MessagesOnly bool // only PRIVMSG and NOTICE, no topics

	// Snippets fills Result.Snippet. An excerpt takes time quadratic in the matches of its message.
	Snippets bool

	// Rooms whose index may lag behind their log. The unindexed ends of their logs are searched
	// too.
	Lagging []data.Room
}

// Result is a matching message.
type Result struct {
	Room   string    `json:"room"`    // "#Family", or "ann,bob"
	RoomID string    `json:"room_id"` // 8 characters
	MsgID  string    `json:"msgid"`
	Time   time.Time `json:"time"`
	Nick   string    `json:"nick"`
	// An excerpt of the text, if Options.Snippets. HighlightStart and HighlightEnd enclose the
	// matched words.
	Snippet string   `json:"snippet"`
	Path    string   `json:"-"` // data.Room.Path
	Line    log.Line `json:"-"` // as it is in the log; owned by the caller
}

// Find returns the matching messages, newest first unless o says otherwise. It reads each match
// again from its log, so a message that was redacted or removed is not returned, even if the index
// still has it.
func (x *Index) Find(ctx context.Context, q Query, o Options) ([]Result, error) {
	x.dbMu.RLock()
	defer x.dbMu.RUnlock()
	limit := min(max(o.Limit, 0), MaxLimit)
	if limit == 0 {
		limit = 20
	}
	f := &finder{x: x, logs: map[string]*log.Log{}, limit: limit}
	defer f.close()
	// Read these offsets before the index is queried. A message that is indexed in between is then
	// found twice, not missed; merge removes duplicates.
	next, err := x.indexedOffsets(ctx, o.Lagging)
	if err != nil {
		return nil, err
	}
	if err := f.searchTails(ctx, q, o, next); err != nil {
		return nil, err
	}
	for {
		n, err := f.readPage(ctx, q, o)
		if err != nil {
			return nil, err
		}
		if n < limit || len(f.indexed) == limit {
			return f.merge(!o.OldestFirst), nil
		}
		f.skip += n
	}
}

// finder is the state of one call of Find.
type finder struct {
	x           *Index
	logs        map[string]*log.Log // by path
	limit, skip int
	indexed     []Result // results from the index
	unindexed   []Result // results from the unindexed ends of the logs
}

func (f *finder) close() {
	for _, l := range f.logs {
		if l != nil {
			l.Close()
		}
	}
}

// readPage reads the next page of matches from the index and returns how many there were.
func (f *finder) readPage(ctx context.Context, q Query, o Options) (n int, err error) {
	text, values := statement(q, o)
	rows, err := f.x.db.QueryContext(ctx, text, append(values, f.limit, f.skip)...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var r Result
		var place int64
		if err := rows.Scan(&r.Room, &r.Path, &r.RoomID, &place, &r.Snippet); err != nil {
			return n, err
		}
		n++
		line, err := f.readLine(r.Path, r.RoomID, place)
		if err != nil {
			return n, err
		}
		if line == nil || len(f.indexed) == f.limit || o.MessagesOnly && !isMessage(line) {
			continue
		}
		r = resultOf(r, line)
		f.indexed = append(f.indexed, r)
	}
	return n, rows.Err()
}

// resultOf returns r completed from its log line.
func resultOf(r Result, line log.Line) Result {
	r.MsgID, r.Time, r.Line = line.MsgID(), line.Time(), line
	r.Nick, _, _ = strings.Cut(strings.TrimPrefix(string(line.Plain()), ":"), "!")
	r.Nick, _, _ = strings.Cut(r.Nick, " ")
	return r
}

// isMessage reports whether a line is a PRIVMSG or NOTICE.
func isMessage(line log.Line) bool {
	_, rest, _ := bytes.Cut(line.Plain(), []byte{' '})
	return bytes.HasPrefix(rest, []byte("PRIVMSG ")) || bytes.HasPrefix(rest, []byte("NOTICE "))
}

// readLine returns the log line of a match, or nil if it is no longer in the log.
func (f *finder) readLine(path, id string, place int64) (log.Line, error) {
	l := f.openLog(path)
	if l == nil || l.ID() != id {
		return nil, nil
	}
	line, err := l.At(place)
	if errors.Is(err, log.ErrNotFound) || err == nil && line.Redacted() {
		return nil, nil
	}
	return line, err
}

// SQL expressions of Result.Snippet. matchSnippet needs a query with words.
const (
	noSnippet    = "''"
	firstSnippet = "substr(texts.text, 1, 100)"
)

var matchSnippet = "snippet(texts, 0, char(" + strconv.Itoa(HighlightStart) + "), char(" + strconv.Itoa(HighlightEnd) + "), '…', 24)"

// snippet returns the SQL expression of Result.Snippet.
func snippet(hasWords bool, o Options) string {
	switch {
	case !o.Snippets:
		return noSnippet
	case hasWords:
		return matchSnippet
	}
	return firstSnippet
}

// foldedName returns the folded name of the room or conversation that a query names.
func foldedName(in string) string {
	if r, err := data.Named(in); err == nil {
		return irc.Fold(r.Name)
	}
	return irc.Fold(in)
}

// statement returns the SQL for a query, without the limit. The matching table is the outer loop of
// the join and delivers rows in result order, so that the limit ends the query early.
func statement(q Query, o Options) (text string, values []any) {
	wants, not := q.matchExpressions()
	var b strings.Builder
	from := "messages CROSS JOIN texts ON texts.rowid = messages.n"
	order := "messages.n"
	if wants != "" {
		from, order = "texts CROSS JOIN messages ON messages.n = texts.rowid", "texts.rowid"
	}
	b.WriteString("SELECT rooms.name, rooms.path, rooms.id, messages.place, " + snippet(wants != "", o) + " FROM " + from + " CROSS JOIN rooms ON rooms.n = messages.room WHERE TRUE")
	where := func(condition string, value ...any) {
		b.WriteString(" AND " + condition)
		values = append(values, value...)
	}
	switch {
	case wants != "" && not != "":
		where("texts MATCH ?", "("+wants+") NOT ("+not+")")
	case wants != "":
		where("texts MATCH ?", wants)
	case not != "":
		where("messages.n NOT IN (SELECT rowid FROM texts WHERE texts MATCH ?)", not)
	}
	if q.From != "" {
		where("? IN (messages.nick, messages.account)", irc.Fold(q.From))
	}
	if q.In != "" {
		where("rooms.folded = ?", foldedName(q.In))
	}
	if !q.After.IsZero() {
		// the first number not before After
		where(order+" >= ?", firstNumberAt(q.After.Add(time.Millisecond-1)))
	}
	if !q.Before.IsZero() {
		where(order+" < ?", firstNumberAt(q.Before.Add(time.Millisecond-1)))
	}
	if o.RoomPaths != nil {
		// Strings always encode as JSON.
		list, _ := json.Marshal(o.RoomPaths)
		where("rooms.path IN (SELECT value FROM json_each(?))", string(list))
	}
	if b.WriteString(" ORDER BY " + order); !o.OldestFirst {
		b.WriteString(" DESC")
	}
	b.WriteString(" LIMIT ? OFFSET ?")
	return b.String(), values
}
