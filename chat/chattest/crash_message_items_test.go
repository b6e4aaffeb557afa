//go:build linux

package chattest

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"weir/chat/log"
)

// direct sends a direct message to bob, acknowledged by a PONG.
func direct(_ *stateServer, it *item) bool {
	n := it.next()
	if it.client.send(fmt.Sprintf("PRIVMSG bob :direct %d", n), fmt.Sprintf("PING :done%d", n)) != nil {
		return false
	}
	_, ok := it.wait(fmt.Sprintf(":done%d ", n))
	if ok {
		it.answered(n)
	}
	return ok
}

// directs reads the direct messages: all up to the number are there.
func directs(s *stateServer, _ *client) (func(int) bool, error) {
	texts, err := folderTexts(filepath.Join(s.data, "direct"))
	return func(n int) bool {
		for i := 1; i <= n; i++ {
			if !strings.Contains(texts, fmt.Sprintf(" PRIVMSG bob :direct %d\r\n", i)) {
				return false
			}
		}
		return true
	}, err
}

var msgidTag = regexp.MustCompile(`^@\S*\bmsgid=([^;\s]+)`)

// redaction is an item whose changes are redactions of messages.
type redaction struct {
	sent  int            // number of messages sent: a kill may leave one that is not redacted
	texts map[int]string // of the message of each change
}

// redact sends a message and redacts it. The acknowledged number is that of the redaction.
func (r *redaction) redact(_ *stateServer, it *item) bool {
	n := it.next()
	r.sent++
	r.texts[n] = fmt.Sprintf(" PRIVMSG #state :secret %d", r.sent)
	if it.client.send("CAP REQ :message-tags echo-message draft/message-redaction", strings.TrimSpace(r.texts[n])) != nil {
		return false
	}
	line, ok := it.wait(r.texts[n] + " ")
	if it.refused != "" {
		return ok
	}
	id := msgidTag.FindStringSubmatch(line)
	if !ok || id == nil || it.client.send("REDACT #state "+id[1]) != nil {
		return false
	}
	if _, ok = it.wait(" REDACT #state " + id[1] + " "); ok {
		it.answered(n)
	}
	return ok
}

// redacted reads the room: no message of a change up to the number is there.
func (r *redaction) redacted(s *stateServer, _ *client) (func(int) bool, error) {
	lines, err := folderTexts(filepath.Join(s.data, "rooms", stateRoom))
	return func(n int) bool {
		for i := 1; i <= n; i++ {
			if strings.Contains(lines, r.texts[i]+"\r\n") {
				return false
			}
		}
		return true
	}, err
}

// wait reads up to a line that contains text, if a blank is appended to the line, or that refuses
// the change. It returns false if the connection is lost.
func (it *item) wait(text string) (line string, ok bool) {
	for {
		line, err := it.client.line()
		if err != nil {
			return "", false
		}
		if strings.Contains(line, " FAIL ") || strings.Contains(line, " 404 ") {
			it.refused = line
		}
		if strings.Contains(line+" ", text) || it.refused != "" {
			return line, true
		}
	}
}

// folderTexts returns the lines of all logs in a folder and in its subfolders.
func folderTexts(folder string) (string, error) {
	var all strings.Builder
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		l, err := log.Open(path, log.Options{ReadOnly: true})
		if err != nil {
			return nil // no log
		}
		defer l.Close()
		lines, err := l.After(0, 1<<30)
		for _, line := range lines {
			all.Write(line.Plain())
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) { // before the first message
		err = nil
	}
	return all.String(), err
}
