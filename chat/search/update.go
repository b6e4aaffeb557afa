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

// batchLines is the number of lines that are indexed in one transaction.
const batchLines = 1000

// Update indexes everything that is committed in all rooms. If another update is running, it waits
// until that one is done or ctx ends.
func (x *Index) Update(ctx context.Context) error {
	behind, err := x.IndexAll(ctx)
	for len(behind) > 0 && err == nil {
		behind, err = x.IndexRooms(ctx, behind)
	}
	return err
}

// IndexAll indexes one batch of each room that has unindexed messages, deletes rooms whose folders
// are gone, and returns the rooms that still lag.
func (x *Index) IndexAll(ctx context.Context) (behind []data.Room, err error) {
	err = x.exclusively(ctx, func(ctx context.Context) error {
		behind, err = x.indexAndPrune(ctx)
		return err
	})
	return behind, err
}

// IndexRooms indexes one batch of each of the rooms and returns those that still lag. It skips
// rooms that do not exist.
func (x *Index) IndexRooms(ctx context.Context, rooms []data.Room) (behind []data.Room, err error) {
	err = x.exclusively(ctx, func(ctx context.Context) error {
		behind, err = x.indexEach(ctx, rooms)
		return err
	})
	return behind, err
}

// exclusively calls update while no other goroutine updates. If the index turns out to be unusable,
// it calls update again on a new index.
func (x *Index) exclusively(ctx context.Context, update func(context.Context) error) error {
	select {
	case x.updateSlot <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-x.updateSlot }()
	if err := x.reopen(ctx, nil); err != nil {
		return err
	}
	err := update(ctx)
	if !unusable(err) {
		return err
	}
	if err := x.reopen(ctx, err); err != nil {
		return err
	}
	return update(ctx)
}

// indexAndPrune indexes a batch of every room and deletes those whose folders are gone.
func (x *Index) indexAndPrune(ctx context.Context) (behind []data.Room, err error) {
	rooms, err := data.List(x.dir)
	if err != nil && !errors.Is(err, data.ErrNone) {
		return nil, err
	}
	if behind, err = x.indexEach(ctx, rooms); ctx.Err() != nil {
		return behind, err
	}
	there := map[string]bool{}
	for _, room := range rooms {
		there[room.Path] = true
	}
	x.dbMu.RLock()
	defer x.dbMu.RUnlock()
	return behind, errors.Join(err, x.deleteMissingRooms(ctx, there))
}

// indexEach indexes a batch of each of the rooms and pauses after each batch.
func (x *Index) indexEach(ctx context.Context, rooms []data.Room) (behind []data.Room, err error) {
	x.dbMu.RLock()
	defer x.dbMu.RUnlock()
	var all []error
	for _, room := range rooms {
		began := time.Now()
		worked, more, err := x.indexRoom(ctx, room)
		failed := err != nil && !errors.Is(err, os.ErrNotExist)
		if failed {
			all = append(all, fmt.Errorf("search: %s: %w", room.Name, err))
		}
		if more || failed {
			behind = append(behind, room)
		}
		if worked {
			x.pauseAfter(ctx, time.Since(began))
		}
		if ctx.Err() != nil {
			return behind, ctx.Err()
		}
	}
	return behind, errors.Join(all...)
}

// pauseAfter waits for the time that Pause returns, or until ctx ends.
func (x *Index) pauseAfter(ctx context.Context, took time.Duration) {
	if x.Pause == nil {
		return
	}
	timer := time.NewTimer(x.Pause(took))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// roomState is a row of the table rooms.
type roomState struct {
	rowID       int64 // primary key
	nextOffset  int64 // offset of the first line that is not indexed
	firstOffset int64 // offset of the first line of the log, when last indexed
	deletedAny  bool  // messages were deleted from the index
}

// indexRoom indexes a batch of a room, starting where it stopped. worked reports whether there was
// anything to do, more whether the room still lags.
func (x *Index) indexRoom(ctx context.Context, indexRoom data.Room) (worked, more bool, err error) {
	dir := filepath.Join(x.dir, indexRoom.Path)
	folder, err := os.Lstat(dir)
	if err != nil {
		return false, false, err
	}
	if !folder.IsDir() {
		// a link to a room's folder under an old name; indexed under its current name
		return false, false, nil
	}
	l, err := log.Open(dir, log.Options{ReadOnly: true})
	if err != nil {
		if all, e := listSegments(dir); e == nil && len(all) == 0 {
			return false, false, nil // the room is being created
		}
		return false, false, err
	}
	defer l.Close()
	last, known := x.indexed[indexRoom.Path]
	unchanged := known && last.folderModTime.Equal(folder.ModTime())
	if unchanged && last.nextOffset == l.Committed() {
		return false, false, nil
	}
	if last.nextOffset, more, err = x.indexBatch(ctx, indexRoom, l, unchanged); err == nil {
		x.indexed[indexRoom.Path] = indexedRoom{folder.ModTime(), last.nextOffset}
	}
	return true, more, err
}

// listSegments returns the segments of a room's log in order.
func listSegments(dir string) (all []segment, err error) {
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
		s, err := fileSignature(filepath.Join(dir, e.Name()))
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
	// Inode and modification time: differs if another file took its place.
	signature string
}

func fileSignature(file string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil {
		return "", &os.PathError{Op: "stat", Path: file, Err: err}
	}
	return fmt.Sprintf("%d %d", st.Ino, st.Mtim.Nano()), nil
}

// indexBatch indexes up to batchLines lines in one transaction.
func (x *Index) indexBatch(ctx context.Context, room data.Room, l *log.Log, unchanged bool) (next int64, more bool, err error) {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, false, err
	}
	defer tx.Rollback()
	s, err := x.loadRoom(tx, room, l)
	if err == nil && !unchanged {
		err = x.reconcileSegments(tx, s, room, l)
	}
	if err != nil {
		return 0, false, err
	}
	if more, err = s.addLines(tx, l); err != nil {
		return 0, false, err
	}
	if _, err := tx.Exec("UPDATE rooms SET next = ?, first = ? WHERE n = ?", s.nextOffset, s.firstOffset, s.rowID); err != nil {
		return 0, false, err
	}
	if err := tx.Commit(); err != nil {
		return 0, false, err
	}
	if s.deletedAny { // also remove the text from the write-ahead log
		_, err = x.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	return s.nextOffset, more, err
}

// loadRoom reads the state of a room, and adds the room if it is new.
func (x *Index) loadRoom(tx *sql.Tx, room data.Room, l *log.Log) (*roomState, error) {
	s := &roomState{}
	id, name := "", ""
	err := tx.QueryRow("SELECT n, next, first, id, name FROM rooms WHERE path = ?", room.Path).Scan(&s.rowID, &s.nextOffset, &s.firstOffset, &id, &name)
	// Another room has taken this name, or an older backup was restored.
	if err == nil && (id != l.ID() || s.nextOffset > l.Committed()) {
		if err = deleteRoom(tx, s.rowID); err == nil {
			s.deletedAny, err = true, sql.ErrNoRows
		}
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		r, err := tx.Exec("INSERT INTO rooms (path, id, name, folded, next, first) VALUES (?, ?, ?, ?, 0, 0)", room.Path, l.ID(), room.Name, irc.Fold(room.Name))
		if err != nil {
			return nil, err
		}
		s.nextOffset, s.firstOffset = 0, 0
		s.rowID, err = r.LastInsertId()
		return s, err
	case err == nil && name != room.Name:
		_, err = tx.Exec("UPDATE rooms SET name = ? WHERE n = ?", room.Name, s.rowID)
	}
	return s, err
}

// applyRedaction deletes the message that a REDACT line names, if it is redacted.
func (s *roomState) applyRedaction(tx *sql.Tx, l *log.Log, msgid string) error {
	digits, ok := strings.CutPrefix(msgid, l.ID()+"-")
	offset, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil {
		return nil
	}
	if line, err := l.At(offset); err == nil && !line.Redacted() {
		return nil // the REDACT line alone proves nothing: a client can send one without permission
	} else if err != nil && !errors.Is(err, log.ErrNotFound) {
		return err
	}
	return s.deleteMessages(tx, "place = ?", offset)
}

// deleteMessages deletes the messages of a room for which the SQL condition holds.
func (s *roomState) deleteMessages(tx *sql.Tx, condition string, values ...any) error {
	values = append([]any{s.rowID}, values...)
	if _, err := tx.Exec("DELETE FROM texts WHERE rowid IN (SELECT n FROM messages WHERE room = ? AND "+condition+")", values...); err != nil {
		return err
	}
	r, err := tx.Exec("DELETE FROM messages WHERE room = ? AND "+condition, values...)
	if err != nil {
		return err
	}
	n, err := r.RowsAffected()
	s.deletedAny = s.deletedAny || n > 0
	return err
}

func deleteRoom(tx *sql.Tx, n int64) error {
	for _, change := range []string{"DELETE FROM texts WHERE rowid IN (SELECT n FROM messages WHERE room = ?)", "DELETE FROM messages WHERE room = ?",
		"DELETE FROM segments WHERE room = ?", "DELETE FROM rooms WHERE n = ?"} {
		if _, err := tx.Exec(change, n); err != nil {
			return err
		}
	}
	return nil
}

// reconcileSegments deletes messages whose segment was removed by retention or rewritten by a
// redaction since the last batch.
func (x *Index) reconcileSegments(tx *sql.Tx, s *roomState, room data.Room, l *log.Log) error {
	if first := l.First(); first > s.firstOffset {
		if err := s.deleteMessages(tx, "place < ?", first); err != nil {
			return err
		}
		if _, err := tx.Exec("DELETE FROM segments WHERE room = ? AND base < ?", s.rowID, first); err != nil {
			return err
		}
		s.firstOffset = first
	}
	known, err := loadSignatures(tx, s.rowID)
	if err != nil {
		return err
	}
	now, err := listSegments(filepath.Join(x.dir, room.Path))
	if err != nil {
		return err
	}
	for i, g := range now {
		end := s.nextOffset
		if i+1 < len(now) {
			end = min(end, now[i+1].base)
		}
		if known[g.base] == g.signature {
			continue
		}
		if err := s.reconcileRange(tx, l, g.base, end); err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT OR REPLACE INTO segments (room, base, sign) VALUES (?, ?, ?)", s.rowID, g.base, g.signature); err != nil {
			return err
		}
	}
	return nil
}

// reconcileRange deletes the messages between two offsets that are redacted or no longer in the
// log.
func (s *roomState) reconcileRange(tx *sql.Tx, l *log.Log, from, to int64) error {
	if from >= to {
		return nil
	}
	lines := l.Stream(from)
	defer lines.Close()
	at := from
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) || err == nil && line.Offset() >= to {
			return s.deleteMessages(tx, "place >= ? AND place < ?", at, to)
		}
		if err != nil {
			return err
		}
		if line.Redacted() || line.Offset() > at {
			last := line.Offset()
			if line.Redacted() {
				last++
			}
			if err := s.deleteMessages(tx, "place >= ? AND place < ?", at, last); err != nil {
				return err
			}
		}
		at = line.Offset() + int64(len(line))
	}
}

func loadSignatures(tx *sql.Tx, room int64) (map[int64]string, error) {
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

// deleteMissingRooms deletes rooms whose folders are gone.
func (x *Index) deleteMissingRooms(ctx context.Context, there map[string]bool) error {
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
		if err := deleteRoom(tx, n); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	_, err = x.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}
