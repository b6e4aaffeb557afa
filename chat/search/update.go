package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ergochat/irc-go/ircmsg"
	"golang.org/x/sys/unix"

	"weir/chat/data"
	"weir/chat/irc"
	"weir/chat/log"
)

// step is how many lines are indexed in one transaction.
const step = 2000

// Update brings the index up to what is committed now, in all rooms. It waits for another Update or Follow that is under way, until ctx ends.
func (x *Index) Update(ctx context.Context) error { return x.alone(ctx, x.all) }

// Follow brings the index up to what is committed now in some rooms, as Update does in all. One that is not there is passed over.
func (x *Index) Follow(ctx context.Context, rooms []data.Room) error {
	return x.alone(ctx, func(ctx context.Context) error { return x.some(ctx, rooms) })
}

// alone calls update while nobody else updates, and again in a new index if this one turns out to be unusable.
func (x *Index) alone(ctx context.Context, update func(context.Context) error) error {
	select {
	case x.updating <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-x.updating }()
	if err := x.again(ctx, nil); err != nil {
		return err
	}
	err := update(ctx)
	if !unusable(err) {
		return err
	}
	if err := x.again(ctx, err); err != nil {
		return err
	}
	return update(ctx)
}

// all indexes all rooms, and forgets those that are gone.
func (x *Index) all(ctx context.Context) error {
	rooms, err := data.List(x.dir)
	if err != nil && !errors.Is(err, data.ErrNone) {
		return err
	}
	if err = x.some(ctx, rooms); ctx.Err() != nil {
		return err
	}
	there := map[string]bool{}
	for _, room := range rooms {
		there[room.Path] = true
	}
	x.life.RLock()
	defer x.life.RUnlock()
	return errors.Join(err, x.forgetRooms(ctx, there))
}

// some indexes rooms.
func (x *Index) some(ctx context.Context, rooms []data.Room) error {
	x.life.RLock()
	defer x.life.RUnlock()
	var all []error
	for _, room := range rooms {
		if err := x.room(ctx, room); err != nil && !errors.Is(err, os.ErrNotExist) {
			all = append(all, fmt.Errorf("search: %s: %w", room.Name, err))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.Join(all...)
}

// state is a room in the index.
type state struct {
	n, next, first int64
	forgot         bool // something left the index
}

// room indexes a room from where it stopped.
func (x *Index) room(ctx context.Context, room data.Room) error {
	dir := filepath.Join(x.dir, room.Path)
	folder, err := os.Stat(dir)
	if err != nil {
		return err
	}
	l, err := log.Open(dir, log.Options{ReadOnly: true})
	if err != nil {
		if all, e := segments(dir); e == nil && len(all) == 0 {
			return nil // being made
		}
		return err
	}
	defer l.Close()
	last, known := x.seen[room.Path]
	unchanged := known && last.folder.Equal(folder.ModTime())
	if unchanged && last.next == l.Committed() {
		return nil
	}
	for more := true; more; unchanged = true {
		if last.next, more, err = x.step(ctx, room, l, unchanged); err != nil {
			return err
		}
	}
	x.seen[room.Path] = look{folder.ModTime(), last.next}
	return nil
}

// segments are the bases of a room's segments, in order, and how to tell each file from another.
func segments(dir string) (all []segment, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		digits, ok := strings.CutSuffix(e.Name(), ".log")
		base, err := strconv.ParseInt(digits, 10, 64)
		if !ok || err != nil {
			continue
		}
		s, err := signOf(filepath.Join(dir, e.Name()))
		if err == nil {
			all = append(all, segment{base, s})
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return all, nil
}

type segment struct {
	base int64
	sign string // its inode, and when it was last changed
}

func signOf(file string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil {
		return "", &os.PathError{Op: "stat", Path: file, Err: err}
	}
	return fmt.Sprintf("%d %d", st.Ino, st.Mtim.Nano()), nil
}

// step indexes some lines in one transaction.
func (x *Index) step(ctx context.Context, room data.Room, l *log.Log, unchanged bool) (next int64, more bool, err error) {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, false, err
	}
	defer tx.Rollback()
	s, err := x.begin(tx, room, l)
	if err == nil && !unchanged {
		err = x.compare(tx, s, room, l)
	}
	if err != nil {
		return 0, false, err
	}
	lines := l.Stream(max(s.next, l.First()))
	defer lines.Close()
	for i := 0; ; i++ {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, false, err
		}
		if more = i == step; more {
			break
		}
		if err := s.add(tx, l, line); err != nil {
			return 0, false, err
		}
		s.next = line.Offset() + int64(len(line))
	}
	if _, err := tx.Exec("UPDATE rooms SET next = ?, first = ? WHERE n = ?", s.next, s.first, s.n); err != nil {
		return 0, false, err
	}
	if err := tx.Commit(); err != nil {
		return 0, false, err
	}
	if s.forgot { // what the write-ahead file still has of it goes too
		_, err = x.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	return s.next, more, err
}

// begin finds a room, or takes it in.
func (x *Index) begin(tx *sql.Tx, room data.Room, l *log.Log) (*state, error) {
	s := &state{}
	id, name := "", ""
	err := tx.QueryRow("SELECT n, next, first, id, name FROM rooms WHERE path = ?", room.Path).Scan(&s.n, &s.next, &s.first, &id, &name)
	if err == nil && (id != l.ID() || s.next > l.Committed()) { // another room of this name, or an older copy was brought back
		if err = forgetRoom(tx, s.n); err == nil {
			s.forgot, err = true, sql.ErrNoRows
		}
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		r, err := tx.Exec("INSERT INTO rooms (path, id, name, folded, next, first) VALUES (?, ?, ?, ?, 0, 0)", room.Path, l.ID(), room.Name, irc.Fold(room.Name))
		if err != nil {
			return nil, err
		}
		s.next, s.first = 0, 0
		s.n, err = r.LastInsertId()
		return s, err
	case err == nil && name != room.Name:
		_, err = tx.Exec("UPDATE rooms SET name = ? WHERE n = ?", room.Name, s.n)
	}
	return s, err
}

// add indexes a line.
func (s *state) add(tx *sql.Tx, l *log.Log, line log.Line) error {
	m, err := ircmsg.ParseLine(string(line.Plain()))
	if err != nil || len(m.Params) < 2 {
		return nil
	}
	text := m.Params[1]
	switch m.Command {
	case "PRIVMSG", "NOTICE", "TOPIC":
	case "REDACT":
		return s.redacted(tx, l, text)
	default:
		return nil
	}
	if line.Redacted() {
		return nil
	}
	text = strings.TrimSpace(strings.Map(visible, strings.ToValidUTF8(strings.TrimPrefix(text, "\x01ACTION"), " ")))
	if text == "" {
		return nil
	}
	nick, _, _ := strings.Cut(m.Source, "!")
	account, _ := line.Tag("account")
	n, err := numberAt(tx, line.Time())
	if err == nil {
		_, err = tx.Exec("INSERT INTO messages (n, room, place, nick, account) VALUES (?, ?, ?, ?, ?)", n, s.n, line.Offset(), irc.Fold(nick), irc.Fold(account))
	}
	if err == nil {
		_, err = tx.Exec("INSERT INTO texts (rowid, text) VALUES (?, ?)", n, text)
	}
	return err
}

// firstAt is the first number of messages of a time.
func firstAt(t time.Time) int64 { return t.UnixMilli() << 12 }

// numberAt is a number for one more message of a time.
func numberAt(tx *sql.Tx, t time.Time) (int64, error) {
	for first := firstAt(t); ; first += 1 << 12 { // all numbers of a time are hardly ever taken
		next := first + 1<<12
		var last sql.NullInt64
		if err := tx.QueryRow("SELECT max(n) FROM messages WHERE n >= ? AND n < ?", first, next).Scan(&last); err != nil {
			return 0, err
		}
		if !last.Valid {
			return first, nil
		}
		if last.Int64+1 < next {
			return last.Int64 + 1, nil
		}
	}
}

// visible takes out controls, among them the marks of a snippet.
func visible(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

// redacted follows the line that a redaction leaves in the log.
func (s *state) redacted(tx *sql.Tx, l *log.Log, msgid string) error {
	digits, ok := strings.CutPrefix(msgid, l.ID()+"-")
	offset, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil {
		return nil
	}
	if line, err := l.At(offset); err == nil && !line.Redacted() {
		return nil // anybody may have said so
	} else if err != nil && !errors.Is(err, log.ErrNotFound) {
		return err
	}
	return s.forget(tx, "place = ?", offset)
}

// forget takes messages of a room out.
func (s *state) forget(tx *sql.Tx, which string, values ...any) error {
	values = append([]any{s.n}, values...)
	if _, err := tx.Exec("DELETE FROM texts WHERE rowid IN (SELECT n FROM messages WHERE room = ? AND "+which+")", values...); err != nil {
		return err
	}
	r, err := tx.Exec("DELETE FROM messages WHERE room = ? AND "+which, values...)
	if err != nil {
		return err
	}
	n, err := r.RowsAffected()
	s.forgot = s.forgot || n > 0
	return err
}

func forgetRoom(tx *sql.Tx, n int64) error {
	for _, change := range []string{"DELETE FROM texts WHERE rowid IN (SELECT n FROM messages WHERE room = ?)", "DELETE FROM messages WHERE room = ?",
		"DELETE FROM segments WHERE room = ?", "DELETE FROM rooms WHERE n = ?"} {
		if _, err := tx.Exec(change, n); err != nil {
			return err
		}
	}
	return nil
}

// compare looks for what became of segments since: removed, or another file in their place because a line was redacted.
func (x *Index) compare(tx *sql.Tx, s *state, room data.Room, l *log.Log) error {
	if first := l.First(); first > s.first {
		if err := s.forget(tx, "place < ?", first); err != nil {
			return err
		}
		if _, err := tx.Exec("DELETE FROM segments WHERE room = ? AND base < ?", s.n, first); err != nil {
			return err
		}
		s.first = first
	}
	known, err := signs(tx, s.n)
	if err != nil {
		return err
	}
	now, err := segments(filepath.Join(x.dir, room.Path))
	if err != nil {
		return err
	}
	for i, g := range now {
		end := s.next
		if i+1 < len(now) {
			end = min(end, now[i+1].base)
		}
		if known[g.base] == g.sign {
			continue
		}
		if err := s.look(tx, l, g.base, end); err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT OR REPLACE INTO segments (room, base, sign) VALUES (?, ?, ?)", s.n, g.base, g.sign); err != nil {
			return err
		}
	}
	return nil
}

// look forgets what of a part of a log was redacted or is gone.
func (s *state) look(tx *sql.Tx, l *log.Log, from, to int64) error {
	if from >= to {
		return nil
	}
	lines := l.Stream(from)
	defer lines.Close()
	at := from
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) || err == nil && line.Offset() >= to {
			return s.forget(tx, "place >= ? AND place < ?", at, to)
		}
		if err != nil {
			return err
		}
		if line.Redacted() || line.Offset() > at {
			last := line.Offset()
			if line.Redacted() {
				last++
			}
			if err := s.forget(tx, "place >= ? AND place < ?", at, last); err != nil {
				return err
			}
		}
		at = line.Offset() + int64(len(line))
	}
}

func signs(tx *sql.Tx, room int64) (map[int64]string, error) {
	rows, err := tx.Query("SELECT base, sign FROM segments WHERE room = ?", room)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := map[int64]string{}
	for rows.Next() {
		var base int64
		var s string
		if err := rows.Scan(&base, &s); err != nil {
			return nil, err
		}
		known[base] = s
	}
	return known, rows.Err()
}

// forgetRooms takes out rooms whose folders are gone.
func (x *Index) forgetRooms(ctx context.Context, there map[string]bool) error {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	rows, err := tx.Query("SELECT n, path FROM rooms")
	if err != nil {
		return err
	}
	defer rows.Close()
	var gone []int64
	for rows.Next() {
		var n int64
		var path string
		if err := rows.Scan(&n, &path); err != nil {
			return err
		}
		if !there[path] {
			gone = append(gone, n)
		}
	}
	if err := rows.Err(); err != nil || len(gone) == 0 {
		return err
	}
	for _, n := range gone {
		if err := forgetRoom(tx, n); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	_, err = x.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}
