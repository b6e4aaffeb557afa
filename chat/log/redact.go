package log

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Redact takes the text and the tags of the line at an offset out of the room's files; the line keeps its length,
// time and msgid, so no other line moves. ErrNotFound: there is no such line. A redacted line may be redacted again.
// A Reader that has the segment open may still find the text. Writers of this room wait meanwhile.
func (l *Log) Redact(offset int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.writable(); err != nil {
		return err
	}
	return l.inOrder(func() error {
		if err := l.order(); err != nil {
			return err
		}
		if err := l.syncAll(); err != nil {
			return err
		}
		line, err := l.At(offset)
		if err != nil {
			return err
		}
		without, ok := redacted(line)
		if !ok {
			return fmt.Errorf("chat/log: %s: the line at %d is too short to be redacted in its place", l.dir, offset)
		}
		return l.overwrite(offset, without)
	})
}

// overwrite replaces bytes of a segment by way of a copy, so that a crash leaves the one or the other.
func (l *Log) overwrite(offset int64, with []byte) error {
	bases := l.known()
	i := holding(bases, offset)
	base, last := bases[i], i == len(bases)-1
	name := l.segmentPath(base)
	aside := name + ".tmp"
	mode := os.FileMode(finishedMode)
	if last {
		mode = writableMode
	}
	err := l.writeAside(aside, func(f File) error {
		if err := l.copyTo(f, name); err != nil {
			return err
		}
		_, err := f.WriteAt(with, offset-base)
		return err
	})
	if err == nil {
		err = l.install(aside, name, mode)
	}
	if err != nil {
		return l.failing("redact a line", err)
	}
	if last {
		return l.adopt()
	}
	return nil
}

// writeAside makes a file durable under a name that no reader looks at.
func (l *Log) writeAside(aside string, fill func(File) error) error {
	f, err := l.fs.Open(aside, os.O_RDWR|os.O_CREATE|os.O_TRUNC, writableMode)
	if err != nil {
		return err
	}
	if err = fill(f); err == nil {
		err = f.Datasync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		_ = l.fs.Remove(aside)
	}
	return err
}

// install gives a segment made aside its name. Who has the old one open sees that it is finished.
func (l *Log) install(aside, name string, mode os.FileMode) error {
	if err := l.fs.Chmod(aside, mode); err != nil {
		return err
	}
	if err := l.fs.Chmod(name, finishedMode); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := l.fs.Rename(aside, name); err != nil {
		return err
	}
	return l.fs.SyncDir(l.dir)
}

// copyTo copies a segment's bytes.
func (l *Log) copyTo(to File, name string) error {
	from, err := l.fs.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer from.Close()
	st, err := from.State()
	if err != nil {
		return err
	}
	b := make([]byte, min(st.Size, 1<<20))
	for at := int64(0); at < st.Size; {
		n, err := from.ReadAt(b[:min(int64(len(b)), st.Size-at)], at)
		if n == 0 {
			return errors.Join(io.ErrUnexpectedEOF, err)
		}
		if _, err := to.WriteAt(b[:n], at); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}
