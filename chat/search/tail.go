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

// A tail is the end of a room's log that is not indexed yet. A search reads it line by line, so
// that it finds all that is committed however far the index is behind.

// pageLines is how many lines of a tail are looked at before a search asks whether it is to end.
const pageLines = 1000

// tails returns, by path, the offsets from which rooms are not indexed. One of which nothing is
// indexed has 0.
func (x *Index) tails(ctx context.Context, rooms []data.Room) (map[string]int64, error) {
	next := make(map[string]int64, len(rooms))
	for _, room := range rooms {
		next[room.Path] = 0
	}
	paths := make([]string, 0, len(rooms))
	for path := range next {
		paths = append(paths, path)
	}
	list, _ := json.Marshal(paths) // strings always are JSON
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

// searchTails looks for what fits in the tails of rooms, up to limit messages of each.
func (f *finder) searchTails(ctx context.Context, q Query, o Options, next map[string]int64) error {
	s := &scan{q: q, o: o, limit: f.limit, filter: newFilter(q)}
	defer s.close()
	for _, room := range o.Behind {
		if o.Rooms != nil && !slices.Contains(o.Rooms, room.Path) || q.In != "" && irc.Fold(room.Name) != foldedName(q.In) {
			continue
		}
		l := f.open(room.Path)
		if l == nil {
			continue
		}
		found, err := s.room(ctx, room, l, next[room.Path])
		if err != nil {
			return err
		}
		f.tail = append(f.tail, found...)
	}
	return nil
}

// scan is a search in tails.
type scan struct {
	q      Query
	o      Options
	limit  int
	filter filter
	words  *matcher // says which candidates fit; nil: none was needed yet
}

func (s *scan) close() {
	if s.words != nil {
		s.words.close()
	}
}

// room returns what fits in the tail of a room's log from an offset on, in the order that is asked
// for.
func (s *scan) room(ctx context.Context, room data.Room, l *log.Log, from int64) (found []Result, err error) {
	if from > l.Committed() { // an older copy was brought back, and is not indexed yet
		from = 0
	}
	next := s.newest(l, from)
	if s.o.Oldest {
		lines := l.Stream(max(from, l.First()))
		defer lines.Close()
		next = oldest(lines)
	}
	for len(found) < s.limit {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		lines, err := next()
		if err != nil || len(lines) == 0 {
			return found, err
		}
		fits, past, err := s.page(ctx, room, l, lines)
		if err != nil {
			return nil, err
		}
		if found = append(found, fits...); past {
			break
		}
	}
	return found[:min(len(found), s.limit)], nil
}

// newest returns a function that returns the next lines of a tail, the newest first, none at its
// begin.
func (s *scan) newest(l *log.Log, from int64) func() ([]log.Line, error) {
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

// oldest is newest the other way round.
func oldest(r *log.Reader) func() ([]log.Line, error) {
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

// page returns which of some lines fit. Past means that all further ones are outside of the times
// that are asked for.
func (s *scan) page(ctx context.Context, room data.Room, l *log.Log, lines []log.Line) (fits []Result, past bool, err error) {
	var candidates []candidate
	for _, line := range lines {
		at := line.Time()
		if early, late := at.Before(s.q.After), !s.q.Before.IsZero() && !at.Before(s.q.Before); early || late {
			past = past || early && !s.o.Oldest || late && s.o.Oldest
			continue
		}
		if !s.filter.mayFit(line.Plain()) || s.o.Messages && !isMessage(line) {
			continue
		}
		if m, ok := readMessage(line); ok && m.redacts == "" && (s.q.From == "" || irc.Fold(s.q.From) == irc.Fold(m.nick) || irc.Fold(s.q.From) == irc.Fold(m.account)) {
			candidates = append(candidates, candidate{line: line, text: m.text})
		}
	}
	if candidates, err = s.matching(ctx, candidates); err != nil {
		return nil, false, err
	}
	for _, c := range candidates {
		fits = append(fits, resultOf(Result{Room: room.Name, Path: room.Path, RoomID: l.ID(), Snippet: c.snippet}, c.line))
	}
	return fits, past, nil
}

// candidate is a message that may fit.
type candidate struct {
	line          log.Line
	text, snippet string
}

// matching returns the candidates of which the words fit, as the index would say, with their
// snippets.
func (s *scan) matching(ctx context.Context, all []candidate) (_ []candidate, err error) {
	if len(s.q.terms) == 0 {
		for i := range all {
			all[i].snippet = firstRunes(all[i].text, 100)
		}
		return all, nil
	}
	if len(all) == 0 {
		return nil, nil
	}
	if s.words == nil {
		if s.words, err = newMatcher(ctx, s.q); err != nil {
			return nil, err
		}
	}
	return s.words.matching(ctx, all)
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

// matcher has SQLite say which texts match a query: in an index of its own, in memory, so that a
// message is found in a tail if and only if it is once it is indexed.
type matcher struct {
	db   *sql.DB
	text string // the statement
	args []any
}

func newMatcher(ctx context.Context, q Query) (*matcher, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each has a memory of its own
	if _, err := db.ExecContext(ctx, textsTable); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	m := &matcher{db: db}
	wants, not := q.match()
	switch {
	case wants == "":
		m.text, m.args = "SELECT rowid, substr(text, 1, 100) FROM texts WHERE rowid NOT IN (SELECT rowid FROM texts WHERE texts MATCH ?)", []any{not}
	case not == "":
		m.text, m.args = "SELECT rowid, "+snippet+" FROM texts WHERE texts MATCH ?", []any{wants}
	default:
		m.text, m.args = "SELECT rowid, "+snippet+" FROM texts WHERE texts MATCH ?", []any{"(" + wants + ") NOT (" + not + ")"}
	}
	m.text += " ORDER BY rowid"
	return m, nil
}

func (m *matcher) close() { _ = m.db.Close() }

func (m *matcher) matching(ctx context.Context, all []candidate) (fits []candidate, err error) {
	tx, err := m.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() // and so it is empty again
	add, err := tx.Prepare(addText)
	if err != nil {
		return nil, err
	}
	for i, c := range all {
		if _, err := add.Exec(i, c.text); err != nil {
			return nil, err
		}
	}
	rows, err := tx.QueryContext(ctx, m.text, m.args...)
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

// merge puts what was found in the index and in tails together, each message once.
func (f *finder) merge(newestFirst bool) []Result {
	if len(f.tail) == 0 {
		return f.found
	}
	all := append(f.tail, f.found...)
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

// open opens a room's log for reading, once; nil: it is gone, or can't be read, and neither can its
// messages.
func (f *finder) open(path string) *log.Log {
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
