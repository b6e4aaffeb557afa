package export

import (
	"bufio"
	"bytes"
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

// Format is the format of an export.
type Format string

// The formats.
const (
	JSONL Format = "jsonl" // one Message a line; Import reads it
	Text  Format = "text"  // for people: a heading for each room, then one message a line
)

// Options select what is exported. The zero value exports everything as JSON lines.
type Options struct {
	Room   string    // only this room or conversation; "": all
	Since  time.Time // only messages from this time on; zero: all
	Format Format    // "": JSONL
}

// Result counts what was exported.
type Result struct {
	Rooms    int
	Messages int64
	Bad      int64 // skipped bytes that belong to no valid message
}

// Export writes the messages of a data directory to w, room by room, each in order. Servers may use
// the directory meanwhile.
func Export(ctx context.Context, w io.Writer, dir string, o Options) (Result, error) {
	rooms, err := selectRooms(dir, o.Room)
	if err != nil {
		return Result{}, err
	}
	out := bufio.NewWriterSize(w, 256<<10)
	var r Result
	for i, room := range rooms {
		if o.Format == Text {
			writeTitle(out, room.Name, i > 0)
		}
		if err := r.exportRoom(ctx, out, dir, room, o); err != nil {
			return r, errors.Join(err, out.Flush())
		}
		r.Rooms++
	}
	return r, out.Flush()
}

// selectRooms returns the rooms to export.
func selectRooms(dir, name string) ([]data.Room, error) {
	all, err := data.List(dir)
	if err != nil || name == "" {
		return all, err
	}
	want, err := data.Named(name)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, room := range all {
		if room.Path == want.Path {
			return []data.Room{room}, nil
		}
		known = append(known, room.Name)
	}
	return nil, fmt.Errorf("no room %s in %s, which has: %s", name, dir, strings.Join(known, " "))
}

// exportRoom exports one room up to COMMITTED.
func (r *Result) exportRoom(ctx context.Context, out *bufio.Writer, dir string, exportRoom data.Room, o Options) (err error) {
	l, err := log.Open(filepath.Join(dir, exportRoom.Path), log.Options{ReadOnly: true})
	if errors.Is(err, os.ErrNotExist) {
		return nil // a server creates or deletes it
	}
	if err != nil {
		return err
	}
	defer l.Close()
	from, end := int64(0), l.Committed()
	if !o.Since.IsZero() {
		if from, err = l.Seek(o.Since); err != nil {
			return err
		}
	}
	lines := l.Stream(from)
	defer func() { r.Bad += lines.Bad(); err = errors.Join(err, lines.Close()) }()
	var b bytes.Buffer
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) || err == nil && line.Offset() >= end {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		b.Reset()
		if o.Format == Text {
			appendText(&b, line)
		} else if err := toMessage(exportRoom.Name, line).appendJSON(&b); err != nil {
			return err
		}
		if _, err := out.Write(b.Bytes()); err != nil {
			return err
		}
		if b.Len() > 0 {
			r.Messages++
		}
	}
}
