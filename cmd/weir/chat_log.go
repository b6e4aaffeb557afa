package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"weir/chat/log"
)

// chatLogCmd has the commands for rooms' logs.
type chatLogCmd struct {
	Check  chatLogCheckCmd  `cmd:"" help:"Check every line of a log."`
	Repair chatLogRepairCmd `cmd:"" help:"Remove damaged bytes from a log, and keep a copy of them."`
	Stat   chatLogStatCmd   `cmd:"" help:"Show the size and age of logs."`
}

// logFolders names the logs that a command works on.
type logFolders struct {
	Folder []string `arg:"" help:"A chat's data directory, for all of its logs, or the folder of one room."`
	JSON   bool     `help:"Print a JSON array with an element per log."`
}

// rooms returns the folders of the logs.
func (f *logFolders) rooms() ([]string, error) {
	var all []string
	for _, folder := range f.Folder {
		found, err := roomsOf(folder)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func roomsOf(folder string) ([]string, error) {
	if _, err := os.Stat(folder); err != nil {
		return nil, err
	}
	if hasSegments(folder) {
		return []string{folder}, nil
	}
	var all []string
	for _, below := range []string{"rooms", "direct"} {
		entries, err := os.ReadDir(filepath.Join(folder, below))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if e.IsDir() {
				all = append(all, filepath.Join(folder, below, e.Name()))
			}
		}
	}
	if len(all) == 0 {
		return nil, usageError{fmt.Errorf("%s contains no log: name a chat's data directory, or the folder of one room", folder)}
	}
	return all, nil
}

// hasSegments reports whether there is a log in a folder.
func hasSegments(folder string) bool {
	own, _ := filepath.Glob(filepath.Join(escapeGlob(folder), "[0-9]*.log"))
	return len(own) > 0
}

// escapeGlob returns the pattern that matches a name only; folders of rooms may contain '[', '*'
// and '?'.
func escapeGlob(name string) string {
	var b []byte
	for i := range len(name) {
		switch name[i] {
		case '*', '?', '[', '\\':
			b = append(b, '\\')
		}
		b = append(b, name[i])
	}
	return string(b)
}

// roomReport is the JSON form of a log's state.
type roomReport struct {
	Folder string `json:"folder"`
	*log.Report
}

// inspect reads the logs one after the other, and calls each with the report of each.
func (f *logFolders) inspect(ctx context.Context, each func(roomReport)) error {
	rooms, err := f.rooms()
	if err != nil {
		return err
	}
	for _, dir := range rooms {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := log.Inspect(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue // a server creates or deletes the room
		}
		if err != nil {
			return err
		}
		each(roomReport{dir, r})
	}
	return nil
}

type chatLogCheckCmd struct{ logFolders }

// Help is the long part of the command's help.
func (c *chatLogCheckCmd) Help() string {
	return `Verifies the checksum and the position of every line. It changes nothing: a server may run meanwhile, and a backup can be checked.

Example:

  weir chat log check /var/lib/weir-chat`
}

// Run implements the command.
func (c *chatLogCheckCmd) Run(ctx context.Context, t *terminal) error {
	reports, faults, lines := []roomReport{}, 0, int64(0)
	err := c.inspect(ctx, func(r roomReport) {
		reports = append(reports, r)
		lines += r.Lines
		faults += len(r.Faults)
		for _, f := range r.Faults {
			if !c.JSON {
				fmt.Fprintf(t.out, "%s: at %d, %d bytes: %s\n", r.Folder, f.Offset, f.Length, f.What)
			}
		}
	})
	if err != nil {
		return err
	}
	if c.JSON {
		err = t.json(reports)
	} else {
		fmt.Fprintf(t.out, "logs: %d, messages: %d, faults: %d\n", len(reports), lines, faults)
	}
	if err == nil && faults > 0 {
		return fmt.Errorf("faults were found: %d; weir chat log repair removes the unreadable bytes", faults)
	}
	return err
}

type chatLogRepairCmd struct{ logFolders }

// Help is the long part of the command's help.
func (c *chatLogRepairCmd) Help() string {
	return `Cuts a torn tail, as a server does when it starts, and removes bytes that belong to no complete message. Messages keep their position. A damaged file is kept as *.damaged; delete it when it is no longer needed, because a message that is redacted later stays in it. A server may run meanwhile.

Example:

  weir chat log repair '/var/lib/weir-chat/rooms/#family'`
}

// repaired is the JSON form of a repair.
type repaired struct {
	Folder   string         `json:"folder"`
	Recovery log.Recovery   `json:"recovery"`
	Segments []log.Repaired `json:"segments"`
}

// Run implements the command.
func (c *chatLogRepairCmd) Run(ctx context.Context, t *terminal) error {
	rooms, err := c.rooms()
	if err != nil {
		return err
	}
	all := []repaired{}
	for _, dir := range rooms {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := repairRoom(dir)
		if err != nil {
			return err
		}
		all = append(all, r)
		if !c.JSON {
			r.print(t)
		}
	}
	if c.JSON {
		return t.json(all)
	}
	return nil
}

func repairRoom(dir string) (repaired, error) {
	l, err := log.Open(dir, log.Options{})
	if err != nil {
		return repaired{}, err
	}
	defer l.Close()
	r := repaired{Folder: dir, Recovery: l.Recovery()}
	r.Segments, err = l.Repair()
	return r, err
}

func (r repaired) print(t *terminal) {
	did := false
	say := func(n int64, format string, values ...any) {
		if n > 0 {
			did = true
			fmt.Fprintf(t.out, "%s: "+format+"\n", append([]any{r.Folder}, values...)...)
		}
	}
	say(r.Recovery.Lost, "%d acknowledged bytes are missing from the end of the files", r.Recovery.Lost)
	say(r.Recovery.Kept, "%d bytes of complete messages after the last acknowledged one were kept", r.Recovery.Kept)
	say(r.Recovery.Cut, "a torn tail of %d bytes was cut at %d", r.Recovery.Cut, r.Recovery.At)
	for _, s := range r.Segments {
		say(1, "%d bytes were removed from segment %d; the damaged file is kept as %s", s.Lost, s.Segment, filepath.Base(s.Kept))
	}
	if !did {
		fmt.Fprintf(t.out, "%s: nothing to repair\n", r.Folder)
	}
}

type chatLogStatCmd struct{ logFolders }

// Help is the long part of the command's help.
func (c *chatLogStatCmd) Help() string {
	return `Example:

  weir chat log stat /var/lib/weir-chat`
}

// Run implements the command.
func (c *chatLogStatCmd) Run(ctx context.Context, t *terminal) error {
	reports, rows := []roomReport{}, [][]string{}
	err := c.inspect(ctx, func(r roomReport) {
		reports = append(reports, r)
		rows = append(rows, []string{filepath.Base(r.Folder), strconv.FormatInt(r.Lines, 10), strconv.FormatInt(r.Redacted, 10),
			strconv.FormatInt(r.Bytes, 10), strconv.Itoa(r.Segments), day(r.Oldest), day(r.Newest), strconv.Itoa(len(r.Faults))})
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return t.json(reports)
	}
	columns := []column{{"log", false}, {"messages", true}, {"redacted", true}, {"bytes", true}, {"segments", true}, {"oldest", false}, {"newest", false}, {"faults", true}}
	writePlainTable(t.out, columns, rows)
	return nil
}

// day formats a message's time for a table. The zero time is "-".
func day(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.Format("2006-01-02 15:04")
}
