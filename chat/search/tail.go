package search

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"weir/chat/data"
	"weir/chat/irc"
	"weir/chat/log"
)

// The tail of a room is the end of its log that is not indexed yet. A search reads it line by line,
// so that it finds every committed message however far the index lags.

// pageLines is the number of lines of a tail that are read between two checks of the context.
const pageLines = 1000

// indexedOffsets returns, by path, the offset up to which each room is indexed: 0 if nothing of it
// is.
func (x *Index) indexedOffsets(ctx context.Context, rooms []data.Room) (map[string]int64, error) {
	next := make(map[string]int64, len(rooms))
	for _, room := range rooms {
		next[room.Path] = 0
	}
	paths := make([]string, 0, len(rooms))
	for path := range next {
		paths = append(paths, path)
	}
	list, _ := json.Marshal(paths) // strings always encode as JSON
	rows, err := x.db.QueryContext(ctx, "SELECT path, next FROM rooms WHERE path IN (SELECT value FROM json_each(?))", string(list))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var path string
		var at int64
		if err := rows.Scan(&path, &at); err != nil {
			return nil, err
		}
		next[path] = at
	}
	return next, rows.Err()
}

// searchTails searches the tails of the rooms and collects up to limit messages of each.
func (f *finder) searchTails(ctx context.Context, q Query, o Options, next map[string]int64) error {
	s := &tailScan{q: q, o: o, limit: f.limit, filter: newLineFilter(q)}
	defer s.close()
	for _, room := range o.Lagging {
		if o.RoomPaths != nil && !slices.Contains(o.RoomPaths, room.Path) || q.In != "" && irc.Fold(room.Name) != foldedName(q.In) {
			continue
		}
		l := f.openLog(room.Path)
		if l == nil {
			continue
		}
		found, err := s.searchRoom(ctx, room, l, next[room.Path])
		if err != nil {
			return err
		}
		f.unindexed = append(f.unindexed, found...)
	}
	return nil
}

// tailScan is one search of the tails.
type tailScan struct {
	q       Query
	o       Options
	limit   int
	filter  lineFilter
	matcher *matcher // decides which candidates match; nil until the first candidate
}

func (s *tailScan) close() {
	if s.matcher != nil {
		s.matcher.close()
	}
}

// searchRoom returns the matching messages in the tail of a room's log from an offset on, in result
// order.
func (s *tailScan) searchRoom(ctx context.Context, searchRoom data.Room, l *log.Log, from int64) (found []Result, err error) {
	if from > l.Committed() { // a backup was restored and is not indexed yet
		from = 0
	}
	next := s.newestFirst(l, from)
	if s.o.OldestFirst {
		lines := l.Stream(max(from, l.First()))
		defer lines.Close()
		next = oldestFirst(lines)
	}
	for len(found) < s.limit {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		lines, err := next()
		if err != nil || len(lines) == 0 {
			return found, err
		}
		fits, past, err := s.matchLines(ctx, searchRoom, l, lines)
		if err != nil {
			return nil, err
		}
		if found = append(found, fits...); past {
			break
		}
	}
	return found[:min(len(found), s.limit)], nil
}

// newestFirst returns a function that returns the next page of a tail, newest line first, and nil
// at the start of the tail.
func (s *tailScan) newestFirst(l *log.Log, from int64) func() ([]log.Line, error) {
	before := l.Committed()
	return func() ([]log.Line, error) {
		if before <= from {
			return nil, nil
		}
		lines, err := l.Latest(pageLines, before)
		if err != nil || len(lines) == 0 {
			return nil, err
		}
		before = lines[0].Offset()
		for len(lines) > 0 && lines[0].Offset() < from {
			lines = lines[1:]
		}
		slices.Reverse(lines)
		return lines, nil
	}
}

// oldestFirst returns a function that returns the next page of a tail, oldest line first, and nil
// at its end.
func oldestFirst(r *log.Reader) func() ([]log.Line, error) {
	return func() (lines []log.Line, err error) {
		for len(lines) < pageLines {
			line, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			lines = append(lines, slices.Clone(line))
		}
		return lines, nil
	}
}

// matchLines returns which of the lines match. past means that all further lines are outside the
// requested times.
func (s *tailScan) matchLines(ctx context.Context, room data.Room, l *log.Log, lines []log.Line) (fits []Result, past bool, err error) {
	var candidates []candidate
	for _, line := range lines {
		at := line.Time()
		if early, late := at.Before(s.q.After), !s.q.Before.IsZero() && !at.Before(s.q.Before); early || late {
			past = past || early && !s.o.OldestFirst || late && s.o.OldestFirst
			continue
		}
		if !s.filter.mayMatch(line.Plain()) || s.o.MessagesOnly && !isMessage(line) {
			continue
		}
		if m, ok := readMessage(line); ok && m.redactedID == "" && (s.q.From == "" || irc.Fold(s.q.From) == irc.Fold(m.nick) || irc.Fold(s.q.From) == irc.Fold(m.account)) {
			candidates = append(candidates, candidate{line: line, text: m.text})
		}
	}
	if candidates, err = s.filterCandidates(ctx, candidates); err != nil {
		return nil, false, err
	}
	for _, c := range candidates {
		fits = append(fits, resultOf(Result{Room: room.Name, Path: room.Path, RoomID: l.ID(), Snippet: c.snippet}, c.line))
	}
	return fits, past, nil
}

// candidate is a message that may match.
type candidate struct {
	line          log.Line
	text, snippet string
}

// filterCandidates returns the candidates whose words match by the rules of the index, with their
// snippets.
func (s *tailScan) filterCandidates(ctx context.Context, all []candidate) (_ []candidate, err error) {
	if len(s.q.terms) == 0 {
		for i := range all {
			if s.o.Snippets {
				all[i].snippet = firstRunes(all[i].text, 100)
			}
		}
		return all, nil
	}
	if len(all) == 0 {
		return nil, nil
	}
	if s.matcher == nil {
		if s.matcher, err = newMatcher(ctx, s.q, s.o); err != nil {
			return nil, err
		}
	}
	return s.matcher.filterCandidates(ctx, all)
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

// matcher matches texts with an SQLite index in memory. A message thus matches in a tail if and
// only if it matches once it is indexed.
type matcher struct {
	db        *sql.DB
	statement string // SQL
	arg       string // of statement
}

func newMatcher(ctx context.Context, q Query, o Options) (*matcher, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection would have its own database in memory
	if _, err := db.ExecContext(ctx, createTexts); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	m := &matcher{db: db}
	wants, not := q.matchExpressions()
	where, arg := "texts MATCH ?", wants
	switch {
	case wants == "":
		where, arg = "rowid NOT IN (SELECT rowid FROM texts WHERE texts MATCH ?)", not
	case not != "":
		arg = "(" + wants + ") NOT (" + not + ")"
	}
	m.statement, m.arg = "SELECT rowid, "+snippet(wants != "", o)+" FROM texts WHERE "+where+" ORDER BY rowid", arg
	return m, nil
}

func (m *matcher) close() { _ = m.db.Close() }

func (m *matcher) filterCandidates(ctx context.Context, all []candidate) (fits []candidate, err error) {
	tx, err := m.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() // leaves the table empty
	add, err := tx.Prepare(addText)
	if err != nil {
		return nil, err
	}
	for i, c := range all {
		if _, err := add.Exec(i, c.text); err != nil {
			return nil, err
		}
	}
	rows, err := tx.QueryContext(ctx, m.statement, m.arg)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var i int
		var s string
		if err := rows.Scan(&i, &s); err != nil {
			return nil, err
		}
		all[i].snippet = s
		fits = append(fits, all[i])
	}
	return fits, rows.Err()
}

// merge combines the results from the index and from the tails, each message once.
func (f *finder) merge(newestFirst bool) []Result {
	if len(f.unindexed) == 0 {
		return f.indexed
	}
	all := append(f.unindexed, f.indexed...)
	slices.SortFunc(all, func(a, b Result) int {
		order := cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Path, b.Path), cmp.Compare(a.Line.Offset(), b.Line.Offset()))
		if newestFirst {
			return -order
		}
		return order
	})
	seen := map[string]bool{}
	all = slices.DeleteFunc(all, func(r Result) bool {
		again := seen[r.MsgID]
		seen[r.MsgID] = true
		return again
	})
	return all[:min(len(all), f.limit)]
}

// openLog opens a room's log for reading, once per search. It returns nil if the log is deleted or
// unreadable.
func (f *finder) openLog(path string) *log.Log {
	l, known := f.logs[path]
	if !known {
		var err error
		if l, err = log.Open(filepath.Join(f.x.dir, path), log.Options{ReadOnly: true}); err != nil {
			l = nil
		}
		f.logs[path] = l
	}
	return l
}
