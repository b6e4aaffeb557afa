package backup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"weir/chat/log"
)

const segmentSize = 8 << 20 // as the default of package log

// copyRooms copies the logs in rooms or direct.
func (c *copier) copyRooms(kind string) error {
	entries, err := os.ReadDir(filepath.Join(c.dir, kind))
	if err != nil {
		return err
	}
	for _, e := range entries {
		// a server creates the links of renamed rooms again from their state
		if !e.IsDir() || isExcluded(e.Name()) {
			continue
		}
		if err := c.copyRoom(path.Join(kind, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// copyRoom copies a log, then the other files of its folder.
func (c *copier) copyRoom(name string) error {
	l, err := log.Open(filepath.Join(c.dir, name), log.Options{ReadOnly: true})
	if err != nil {
		if begun, e := c.isIncomplete(name); begun || e != nil {
			return e
		}
		return err
	}
	defer l.Close()
	if l.ID() == "" {
		return nil // still being created, without messages
	}
	if err := c.copyLog(name, l); err != nil {
		return err
	}
	c.counts.Rooms++
	entries, err := os.ReadDir(filepath.Join(c.dir, name))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if isExcluded(e.Name()) || e.Name() == "id" || e.Name() == "committed" || path.Ext(e.Name()) == ".log" {
			continue
		}
		if err := c.copyTree(path.Join(name, e.Name()), e); err != nil {
			return err
		}
	}
	return c.put(path.Join(name, "id"), 0o600, []byte(l.ID()+"\n"))
}

// isIncomplete reports whether a room's folder has no segment yet, or was removed.
func (c *copier) isIncomplete(name string) (bool, error) {
	entries, err := os.ReadDir(filepath.Join(c.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".log") {
			return false, nil
		}
	}
	return true, nil
}

// copyLog copies a room's lines up to COMMITTED, in segments that start at lines. The last segment
// ends at COMMITTED, so no offset is used again in the copy.
func (c *copier) copyLog(name string, l *log.Log) error {
	end := l.Committed()
	lines := l.Stream(0)
	defer lines.Close()
	var segment []byte
	base := int64(-1)
	write := func(mode os.FileMode) error {
		return c.put(path.Join(name, fmt.Sprintf("%020d.log", base)), mode, segment)
	}
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) || err == nil && line.Offset() >= end {
			break
		}
		if err == nil {
			err = c.ctx.Err()
		}
		if err != nil {
			return err
		}
		if at := line.Offset(); base < 0 || at != base+int64(len(segment)) || len(segment) >= segmentSize {
			if base >= 0 {
				if err := write(0o400); err != nil {
					return err
				}
			}
			base, segment = at, segment[:0]
		}
		segment = append(segment, line...)
		c.counts.Messages++
	}
	c.counts.Bad += lines.Bad()
	if base >= 0 && base+int64(len(segment)) != end {
		if err := write(0o400); err != nil {
			return err
		}
		base = -1
	}
	if base < 0 {
		base, segment = end, nil
	}
	return write(0o600)
}
