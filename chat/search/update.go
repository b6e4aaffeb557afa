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

	"golang.org/x/sys/unix"

	"weir/chat/data"
	"weir/chat/irc"
	"weir/chat/log"
)

// step is how many lines are indexed in one transaction.
const step = 1000

// Update brings the index up to what is committed now, in all rooms. It waits for another update
// that is under way, until ctx ends.
func (x *Index) Update(ctx context.Context) error {
	behind, err := x.Review(ctx)
	for len(behind) > 0 && err == nil {
		behind, err = x.Follow(ctx, behind)
	}
	return err
}

// Review indexes one batch of each room that has something new, forgets rooms that are gone, and
// returns those that are behind still.
func (x *Index) Review(ctx context.Context) (behind []data.Room, err error) {
	err = x.alone(ctx, func(ctx context.Context) error {
		behind, err = x.all(ctx)
		return err
	})
	return behind, err
}

// Follow indexes one batch of each of some rooms, and returns those that are behind still. One that
// is not there is passed over.
func (x *Index) Follow(ctx context.Context, rooms []data.Room) (behind []data.Room, err error) {
	err = x.alone(ctx, func(ctx context.Context) error {
		behind, err = x.some(ctx, rooms)
		return err
	})
	return behind, err
}

// alone calls update while nobody else updates, and again in a new index if this one turns out to
// be unusable.
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

// all indexes a batch of all rooms, and forgets those that are gone.
func (x *Index) all(ctx context.Context) (behind []data.Room, err error) {
	rooms, err := data.List(x.dir)
	if err != nil && !errors.Is(err, data.ErrNone) {
		return nil, err
	}
	if behind, err = x.some(ctx, rooms); ctx.Err() != nil {
		return behind, err
	}
	there := map[string]bool{}
	for _, room := range rooms {
		there[room.Path] = true
	}
	x.life.RLock()
	defer x.life.RUnlock()
	return behind, errors.Join(err, x.forgetRooms(ctx, there))
}

// some indexes a batch of some rooms, and rests after each.
func (x *Index) some(ctx context.Context, rooms []data.Room) (behind []data.Room, err error) {
	x.life.RLock()
	defer x.life.RUnlock()
	var all []error
	for _, room := range rooms {
		began := time.Now()
		worked, more, err := x.room(ctx, room)
		failed := err != nil && !errors.Is(err, os.ErrNotExist)
		if failed {
			all = append(all, fmt.Errorf("search: %s: %w", room.Name, err))
		}
		if more || failed {
			behind = append(behind, room)
		}
		if worked {
			x.rest(ctx, time.Since(began))
		}
		if ctx.Err() != nil {
			return behind, ctx.Err()
		}
	}
	return behind, errors.Join(all...)
}

// rest waits as long as Rest says after work that took so long, or until ctx ends.
func (x *Index) rest(ctx context.Context, took time.Duration) {
	if x.Rest == nil {
		return
	}
	timer := time.NewTimer(x.Rest(took))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// state is a room in the index.
type state struct {
	n, next, first int64
	forgot         bool // something left the index
}

// room indexes a batch of a room from where it stopped. Worked means that there was something to
// do, more that the room is behind still.
func (x *Index) room(ctx context.Context, room data.Room) (worked, more bool, err error) {
	dir := filepath.Join(x.dir, room.Path)
	folder, err := os.Lstat(dir)
	if err != nil {
		return false, false, err
	}
	if !folder.IsDir() {
		return false, false, nil // a room of another name, which that is indexed by
	}
	l, err := log.Open(dir, log.Options{ReadOnly: true})
	if err != nil {
		if all, e := segments(dir); e == nil && len(all) == 0 {
			return false, false, nil // being made
		}
		return false, false, err
	}
	defer l.Close()
	last, known := x.seen[room.Path]
	unchanged := known && last.folder.Equal(folder.ModTime())
	if unchanged && last.next == l.Committed() {
		return false, false, nil
	}
	if last.next, more, err = x.step(ctx, room, l, unchanged); err == nil {
		x.seen[room.Path] = look{folder.ModTime(), last.next}
	}
	return true, more, err
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
	if more, err = s.addLines(tx, l); err != nil {
		return 0, false, err
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
	// another room of this name, or an older copy was brought back
	if err == nil && (id != l.ID() || s.next > l.Committed()) {
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

// compare looks for what became of segments since: removed, or another file in their place because
// a line was redacted.
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
