package export

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"weir/chat/data"
	"weir/chat/log"
)

// Imported counts what an import did.
type Imported struct {
	Rooms    int   `json:"rooms"`    // rooms with messages in the file
	Messages int64 `json:"messages"` // appended messages
	Known    int64 `json:"known"`    // messages skipped because the room has them
	Late     int64 `json:"late"`     // appended messages that are older than the room's newest
}

// batchSize is the number of messages appended at once, with one sync.
const batchSize = 512

// Import appends the messages of a file of JSON lines to the rooms of a data directory. Servers may
// use the directory meanwhile. If a line is invalid, nothing is appended, and the error has its
// position as name:line. A message older than the newest one of its room is invalid unless late is
// set. An interrupted import can be repeated.
func Import(ctx context.Context, name string, file io.ReadSeeker, dir string, late bool) (Imported, error) {
	if _, err := os.Stat(dir); err != nil {
		return Imported{}, fmt.Errorf("%w: name an existing data directory of a chat", err)
	}
	x := &importer{ctx: ctx, name: name, dir: dir, late: late, rooms: map[string]*target{}}
	if err := x.each(file, x.examine); err != nil {
		return Imported{}, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return Imported{}, err
	}
	x.counts.Rooms = len(x.rooms)
	err := x.each(file, x.add)
	if err == nil {
		err = x.flush()
	}
	return x.counts, errors.Join(err, x.close())
}

// importer is a running import.
type importer struct {
	ctx       context.Context
	name, dir string
	late      bool
	rooms     map[string]*target // by path
	counts    Imported

	target  *target // room of log and pending
	log     *log.Log
	pending []log.Entry
}

// each calls do for every line of the file.
func (x *importer) each(file io.Reader, do func(m Message, at time.Time, room data.Room) error) error {
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	number := 1
	for ; lines.Scan(); number++ {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		m, at, room, err := parse(lines.Bytes())
		if err == nil {
			err = do(m, at, room)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", x.name, number, err)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s:%d: %w: the line is longer than %d bytes", x.name, number, ErrMessage, maxLine)
	} else if err != nil {
		return fmt.Errorf("%s:%d: %w", x.name, number, err)
	}
	return nil
}

// examine checks one message in the first pass: its order and its time.
func (x *importer) examine(m Message, at time.Time, room data.Room) error {
	r := x.rooms[room.Path]
	if r == nil {
		var err error
		if r, err = readTarget(filepath.Join(x.dir, room.Path)); err != nil {
			return err
		}
		x.rooms[room.Path] = r
	}
	if at.Before(r.previous) {
		return fmt.Errorf("%w: it is earlier than the message before it in %s", ErrMessage, m.Room)
	}
	r.previous = at
	if !x.late && at.Before(r.newest) && !r.has(&m, at) {
		return fmt.Errorf("%s has messages up to %s, and this one is of %s: nothing was imported; import with late to append it behind them",
			m.Room, r.newest.Format(timeForm), m.Time)
	}
	return nil
}

// add queues a message to be appended, in the second pass.
func (x *importer) add(m Message, at time.Time, room data.Room) error {
	r := x.rooms[room.Path]
	if r == nil {
		return errors.New("the file changed during the import")
	}
	if r.has(&m, at) {
		r.use(&m, at)
		x.counts.Known++
		return nil
	}
	if x.target != r || len(x.pending) == batchSize {
		if err := x.flush(); err != nil {
			return err
		}
	}
	if x.target != r {
		if err := x.open(r, room, at); err != nil {
			return err
		}
	}
	tags := m.importTags()
	if at.Before(r.newest) {
		x.counts.Late++
		if !strings.Contains(";"+tags, ";"+sentTag+"=") {
			tags += ";" + sentTag + "=" + m.Time
		}
	}
	r.known[m.MsgID] = true
	x.pending = append(x.pending, log.Entry{Time: at, Tags: tags, Body: m.Line})
	return nil
}

// open opens another room.
func (x *importer) open(r *target, room data.Room, first time.Time) (err error) {
	if err := x.close(); err != nil {
		return err
	}
	dir := filepath.Join(x.dir, room.Path)
	if x.log, err = log.Open(dir, log.Options{}); err != nil {
		return err
	}
	x.target = r
	if room.Direct {
		return nil
	}
	return nameRoom(dir, room.Name, first)
}

// flush appends the pending messages.
func (x *importer) flush() error {
	if len(x.pending) == 0 {
		return nil
	}
	if _, err := x.log.Append(x.pending); err != nil {
		return err
	}
	x.counts.Messages += int64(len(x.pending))
	x.pending = x.pending[:0]
	return nil
}

// close closes the open room.
func (x *importer) close() error {
	if x.log == nil {
		return nil
	}
	err := x.log.Close()
	x.log, x.target = nil, nil
	return err
}
