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
	Rooms    int   `json:"rooms"`    // that the file has messages of
	Messages int64 `json:"messages"` // appended
	Known    int64 `json:"known"`    // passed over, because they were there
	Late     int64 `json:"late"`     // of the appended: they are older than what the room had
}

// batch is how many messages are appended at once: one sync for all of them.
const batch = 512

// Import appends the messages of a file of JSON lines to the rooms of a chat's data directory,
// which a server may be at work on. Nothing is appended if a line is bad; the error says which one,
// as name:number. Messages that are older than the newest one of their room are bad unless late is
// set. When an import was interrupted, do it again.
func Import(ctx context.Context, name string, file io.ReadSeeker, dir string, late bool) (Imported, error) {
	if _, err := os.Stat(dir); err != nil {
		return Imported{}, fmt.Errorf("%w: the data directory of the chat has to be there", err)
	}
	x := &importer{ctx: ctx, name: name, dir: dir, late: late, rooms: map[string]*target{}}
	if err := x.each(file, x.examine); err != nil {
		return Imported{}, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return Imported{}, err
	}
	x.done.Rooms = len(x.rooms)
	err := x.each(file, x.add)
	if err == nil {
		err = x.flush()
	}
	return x.done, errors.Join(err, x.close())
}

// importer is an import under way.
type importer struct {
	ctx       context.Context
	name, dir string
	late      bool
	rooms     map[string]*target // by path
	done      Imported

	at      *target // where pending goes
	log     *log.Log
	pending []log.Entry
}

// each calls do with every line of the file.
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

// examine is the first look at a message: is it in its place?
func (x *importer) examine(m Message, at time.Time, room data.Room) error {
	r := x.rooms[room.Path]
	if r == nil {
		var err error
		if r, err = readTarget(filepath.Join(x.dir, room.Path)); err != nil {
			return err
		}
		x.rooms[room.Path] = r
	}
	if at.Before(r.before) {
		return fmt.Errorf("%w: it is earlier than the message before it in %s", ErrMessage, m.Room)
	}
	r.before = at
	if !x.late && at.Before(r.newest) && !r.has(&m, at) {
		return fmt.Errorf("%s already has messages of %s, and this one is of %s: nothing was imported; import it as late to put it behind them",
			m.Room, r.newest.Format(timeForm), m.Time)
	}
	return nil
}

// add appends a message, soon.
func (x *importer) add(m Message, at time.Time, room data.Room) error {
	r := x.rooms[room.Path]
	if r == nil {
		return errors.New("the file was changed while it was read")
	}
	if r.has(&m, at) {
		r.use(&m, at)
		x.done.Known++
		return nil
	}
	if x.at != r || len(x.pending) == batch {
		if err := x.flush(); err != nil {
			return err
		}
	}
	if x.at != r {
		if err := x.open(r, room, at); err != nil {
			return err
		}
	}
	tags := m.importTags()
	if at.Before(r.newest) {
		x.done.Late++
		if !strings.Contains(";"+tags, ";"+sentTag+"=") {
			tags += ";" + sentTag + "=" + m.Time
		}
	}
	r.known[m.MsgID] = true
	x.pending = append(x.pending, log.Entry{Time: at, Tags: tags, Body: m.Line})
	return nil
}

// open goes on to another room.
func (x *importer) open(r *target, room data.Room, first time.Time) (err error) {
	if err := x.close(); err != nil {
		return err
	}
	dir := filepath.Join(x.dir, room.Path)
	if x.log, err = log.Open(dir, log.Options{}); err != nil {
		return err
	}
	x.at = r
	if room.Direct {
		return nil
	}
	return nameRoom(dir, room.Name, first)
}

// flush appends what is pending.
func (x *importer) flush() error {
	if len(x.pending) == 0 {
		return nil
	}
	if _, err := x.log.Append(x.pending); err != nil {
		return err
	}
	x.done.Messages += int64(len(x.pending))
	x.pending = x.pending[:0]
	return nil
}

// close gives back the open room.
func (x *importer) close() error {
	if x.log == nil {
		return nil
	}
	err := x.log.Close()
	x.log, x.at = nil, nil
	return err
}
