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

// Marks around what was found, in a snippet.
const (
	MarkOn  = '\x02'
	MarkOff = '\x03'
)

// MaxLimit is the most results of one call.
const MaxLimit = 500

// Options of Find.
type Options struct {
	// paths (data.Room.Path) of the rooms that the asker may read; nil: all, empty: none
	Rooms    []string
	Limit    int  // 1 to MaxLimit; 0: 20
	Oldest   bool // the oldest, and first, instead of the newest
	Messages bool // PRIVMSG and NOTICE only, no topics

	// rooms of which the index may not have all: the ends of their logs are searched too
	Behind []data.Room
}

// Result is a message that was found.
type Result struct {
	Room   string    `json:"room"`    // "#Family", or "ann,bob"
	RoomID string    `json:"room_id"` // 8 characters
	MsgID  string    `json:"msgid"`
	Time   time.Time `json:"time"`
	Nick   string    `json:"nick"`
	// some words of the text, MarkOn and MarkOff around those that were found
	Snippet string   `json:"snippet"`
	Path    string   `json:"-"` // of the room: data.Room.Path
	Line    log.Line `json:"-"` // as it is in the log; the caller's
}

// Find returns the messages that fit, the newest first unless o says otherwise. It reads each in
// its log again: what was redacted or removed is not returned, even if the index still has it.
func (x *Index) Find(ctx context.Context, q Query, o Options) ([]Result, error) {
	x.life.RLock()
	defer x.life.RUnlock()
	limit := min(max(o.Limit, 0), MaxLimit)
	if limit == 0 {
		limit = 20
	}
	f := &finder{x: x, logs: map[string]*log.Log{}, limit: limit}
	defer f.close()
	// before the index is asked: what it gets meanwhile is found twice
	next, err := x.tails(ctx, o.Behind)
	if err != nil {
		return nil, err
	}
	if err := f.searchTails(ctx, q, o, next); err != nil {
		return nil, err
	}
	for {
		n, err := f.page(ctx, q, o)
		if err != nil {
			return nil, err
		}
		if n < limit || len(f.found) == limit {
			return f.merge(!o.Oldest), nil
		}
		f.skip += n
	}
}

// finder is a search under way.
type finder struct {
	x           *Index
	logs        map[string]*log.Log // by path
	limit, skip int
	found       []Result // in the index
	tail        []Result // in what is not indexed yet
}

func (f *finder) close() {
	for _, l := range f.logs {
		if l != nil {
			l.Close()
		}
	}
}

// page looks at the next hits of the index, and says how many there were.
func (f *finder) page(ctx context.Context, q Query, o Options) (n int, err error) {
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
		line, err := f.line(r.Path, r.RoomID, place)
		if err != nil {
			return n, err
		}
		if line == nil || len(f.found) == f.limit || o.Messages && !isMessage(line) {
			continue
		}
		r = resultOf(r, line)
		f.found = append(f.found, r)
	}
	return n, rows.Err()
}

// resultOf is a result with what its line says.
func resultOf(r Result, line log.Line) Result {
	r.MsgID, r.Time, r.Line = line.MsgID(), line.Time(), line
	r.Nick, _, _ = strings.Cut(strings.TrimPrefix(string(line.Plain()), ":"), "!")
	r.Nick, _, _ = strings.Cut(r.Nick, " ")
	return r
}

// isMessage says whether a line is what somebody said.
func isMessage(line log.Line) bool {
	_, rest, _ := bytes.Cut(line.Plain(), []byte{' '})
	return bytes.HasPrefix(rest, []byte("PRIVMSG ")) || bytes.HasPrefix(rest, []byte("NOTICE "))
}

// line is a hit in its log, nil if it is not there any more.
func (f *finder) line(path, id string, place int64) (log.Line, error) {
	l := f.open(path)
	if l == nil || l.ID() != id {
		return nil, nil
	}
	line, err := l.At(place)
	if errors.Is(err, log.ErrNotFound) || err == nil && line.Redacted() {
		return nil, nil
	}
	return line, err
}

// snippet is a Result's Snippet, in SQL.
var snippet = "snippet(texts, 0, char(" + strconv.Itoa(MarkOn) + "), char(" + strconv.Itoa(MarkOff) + "), '…', 24)"

// foldedName is what a query calls a room or conversation, folded.
func foldedName(in string) string {
	if r, err := data.Named(in); err == nil {
		return irc.Fold(r.Name)
	}
	return irc.Fold(in)
}

// statement is a query in SQL, without the limit. What has to match is looked up first, in the
// order in which it is wanted, so that the limit ends it.
func statement(q Query, o Options) (text string, values []any) {
	wants, not := q.match()
	var b strings.Builder
	from, shown := "messages CROSS JOIN texts ON texts.rowid = messages.n", "substr(texts.text, 1, 100)"
	order := "messages.n"
	if wants != "" {
		from, order = "texts CROSS JOIN messages ON messages.n = texts.rowid", "texts.rowid"
		shown = snippet
	}
	b.WriteString("SELECT rooms.name, rooms.path, rooms.id, messages.place, " + shown + " FROM " + from + " CROSS JOIN rooms ON rooms.n = messages.room WHERE TRUE")
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
		where(order+" >= ?", firstAt(q.After.Add(time.Millisecond-1))) // not before it
	}
	if !q.Before.IsZero() {
		where(order+" < ?", firstAt(q.Before.Add(time.Millisecond-1)))
	}
	if o.Rooms != nil {
		list, _ := json.Marshal(o.Rooms) // strings always are JSON
		where("rooms.path IN (SELECT value FROM json_each(?))", string(list))
	}
	if b.WriteString(" ORDER BY " + order); !o.Oldest {
		b.WriteString(" DESC")
	}
	b.WriteString(" LIMIT ? OFFSET ?")
	return b.String(), values
}
