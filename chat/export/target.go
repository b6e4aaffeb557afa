package export

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"weir/chat/irc"
	"weir/chat/log"
	"weir/internal/durable"
)

// target is the existing content of a room that messages are imported into.
type target struct {
	known map[string]bool // ids of its messages, and their former ids
	// number of redacted lines by likeness; redaction has removed their former ids
	redacted map[string]int
	newest   time.Time // time of its last message
	previous time.Time // time of the previous message of the file
}

// readTarget reads a room, which may not exist.
func readTarget(dir string) (*target, error) {
	r := &target{known: map[string]bool{}, redacted: map[string]int{}}
	l, err := log.Open(dir, log.Options{ReadOnly: true})
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	defer l.Close()
	lines := l.Stream(0)
	defer lines.Close()
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		r.addLine(line)
	}
}

func (r *target) addLine(line log.Line) {
	id := line.MsgID()
	r.known[id], r.newest = true, line.Time()
	if from, ok := line.Tag(importTag); ok {
		r.known[from] = true
	} else if line.Redacted() {
		_, offset, _ := strings.Cut(id, "-")
		_, command, _ := strings.Cut(strings.TrimSuffix(string(line.Plain()), "\r\n"), " ")
		r.redacted[likeness(line.Time(), len(line)-len(offset), command)]++
	}
}

// has reports whether the room has a message.
func (r *target) has(m *Message, at time.Time) bool {
	return r.known[m.MsgID] || r.redacted[m.likeness(at)] > 0
}

// use assigns a redacted line to the message, so that the line stands for one message only.
func (r *target) use(m *Message, at time.Time) {
	if like := m.likeness(at); !r.known[m.MsgID] && r.redacted[like] > 0 {
		r.redacted[like]--
		r.known[m.MsgID] = true
	}
}

// likeness returns what redaction leaves of a message: its time, its length without the digits of
// the offset, and its command.
func likeness(at time.Time, length int, command string) string {
	command, _, _ = strings.Cut(command, " ")
	return strconv.FormatInt(at.UnixMilli(), 10) + " " + strconv.Itoa(length) + " " + command
}

// likeness returns the likeness of m as it would be imported.
func (m *Message) likeness(at time.Time) string {
	const fixed = len("@weir/sum=SSSSSSSS;time=2026-11-21T11:30:00.000Z;msgid=abcdefgh-; \r\n")
	_, command, _ := strings.Cut(m.Line, " ")
	return likeness(at, fixed+len(m.importTags())+len(m.Line), command)
}

// nameRoom creates the state file of a room without one, which preserves the upper case of its
// name.
func nameRoom(dir, name string, made time.Time) error {
	state := filepath.Join(dir, "state")
	if _, err := os.Stat(state); err == nil {
		return nil
	}
	err := durable.CreateFile(state, irc.AppendLine(nil, "weir", "CREATED", name, strconv.FormatInt(made.Unix(), 10)), 0o600)
	if err != nil && !errors.Is(err, os.ErrExist) { // a server created it meanwhile
		return fmt.Errorf("create the state of a room: %w", err)
	}
	return nil
}
