package files

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"weir/web"
	"weir/web/components/internal/tag"
)

var (
	errDirectory = errors.New("files: the path is a directory")
	errIrregular = errors.New("files: the path is not a regular file")
	errChanged   = errors.New("files: the file changed while it was sent: replace files by rename instead of writing into them")
	errUnstable  = errors.New("files: the file changed during each read: replace files by rename instead of writing into them")
)

// read makes the entry of a file from disk, and caches it under key.
func (f *files) read(key, clean string) (*entry, error) {
	e := &entry{key: strings.Clone(key), kind: contentType(clean), reliable: true}
	now := time.Since(f.epoch)
	e.checkedAt.Store(int64(now))
	e.plain.name = rootName(clean)
	if err := f.readVariant(e, &e.plain); err != nil {
		return nil, err
	}
	for i := range f.codings {
		f.addSibling(e, &f.codings[i])
	}
	if f.store != nil {
		f.cache(e)
	}
	return e, nil
}

// cache caches an entry. For a large file it caches the header fields and opens the file for each
// response.
func (f *files) cache(e *entry) {
	if e.plain.data != nil {
		f.store.Put(e.key, e, e.size())
		return
	}
	if !e.plain.stamp.isReliable(time.Now()) {
		return // the tag is for one response
	}
	known := &entry{key: e.key, kind: e.kind, plain: e.plain, absent: e.absent, coded: e.coded, codings: e.codings, reliable: true}
	known.plain.openFile = nil
	known.checkedAt.Store(e.checkedAt.Load())
	f.store.Put(e.key, known, known.size())
}

// size returns about how many bytes of memory an entry uses.
func (e *entry) size() int64 {
	n := 1024 + len(e.key) + len(e.plain.data)
	for i := range e.coded {
		n += 512 + len(e.coded[i].data)
	}
	return int64(n)
}

// addSibling adds a precompressed file to an entry, if it exists and is not older than the
// original.
func (f *files) addSibling(e *entry, s *sibling) {
	v := variant{name: e.plain.name + s.extension, coding: s}
	if e.plain.data == nil {
		var err error
		if v.stamp, err = f.root.stat(v.name); err != nil || v.stamp.modified < e.plain.stamp.modified {
			e.absent = append(e.absent, v.name)
			return
		}
		v.setFields(f.stampTag(v.stamp))
	} else if f.readVariant(e, &v) != nil || v.data == nil || v.stamp.modified < e.plain.stamp.modified {
		v.close()
		e.absent = append(e.absent, v.name)
		return
	}
	e.coded = append(e.coded, v)
	e.codings = append(e.codings, s.coding)
}

func (v *variant) close() {
	if v.openFile != nil {
		_ = v.openFile.Close()
	}
}

// readVariant opens the file of a variant, and reads it if it is small.
func (f *files) readVariant(e *entry, v *variant) error {
	file, s, err := f.root.open(v.name)
	if err != nil {
		return err
	}
	if f.store == nil || s.size > f.maxCachedFile {
		v.openFile, v.stamp = file, s
		v.setFields(f.stampTag(s))
		return nil
	}
	defer file.Close()
	if v.data, v.stamp, err = readStable(file); err != nil {
		return err
	}
	e.reliable = e.reliable && v.stamp.isReliable(time.Now())
	v.setFields(tag.Of(v.data))
	return nil
}

// regularFile is the part of [os.File] that reading needs.
type regularFile interface {
	io.ReaderAt
	Stat() (fs.FileInfo, error)
}

// rereadDelay is the time between two reads of a file that changed recently. It detects a program
// that writes the file in several pieces, unless that pauses longer between two.
const rereadDelay = 3 * time.Millisecond

// readStable returns the content of the file at one moment, and its stamp then. See the package
// comment.
func readStable(file regularFile) ([]byte, stamp, error) {
	for range 6 {
		data, s, err := tryRead(file)
		if err != errUnstable {
			return data, s, err
		}
		time.Sleep(rereadDelay)
	}
	return nil, stamp{}, errUnstable
}

// tryRead is one attempt of readStable.
func tryRead(file regularFile) ([]byte, stamp, error) {
	before, err := stampOf(file)
	if err != nil {
		return nil, before, err
	}
	data, err := readAll(file, before.size)
	if err != nil {
		return nil, before, err
	}
	if !before.isReliable(time.Now()) {
		time.Sleep(rereadDelay)
		again, err := readAll(file, before.size)
		if err != nil {
			return nil, before, err
		}
		if !bytes.Equal(data, again) {
			return nil, before, errUnstable
		}
	}
	after, err := stampOf(file)
	if err == nil && (before != after || int64(len(data)) != before.size) {
		err = errUnstable
	}
	return data, before, err
}

// readAll reads up to size bytes, and one more if there is one.
func readAll(file io.ReaderAt, size int64) ([]byte, error) {
	data := make([]byte, size+1)
	n, err := file.ReadAt(data, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return data[:n:n], nil
}

// isCurrent reports whether an entry still matches the files. It checks the file system unless the
// last check was recent.
func (f *files) isCurrent(c *web.Conn, e *entry) bool {
	now := time.Since(f.epoch)
	if now-time.Duration(e.checkedAt.Load()) < recheckInterval {
		return true
	}
	c.LeaveLoop()
	if !e.reliable || !f.isUnchanged(&e.plain) {
		return false
	}
	for i := range e.coded {
		if !f.isUnchanged(&e.coded[i]) {
			return false
		}
	}
	for _, name := range e.absent {
		if s, err := f.root.stat(name); err == nil && s.modified >= e.plain.stamp.modified && (e.plain.data == nil || s.size <= f.maxCachedFile) {
			return false
		}
	}
	e.checkedAt.Store(int64(now))
	return true
}

func (f *files) isUnchanged(v *variant) bool {
	s, err := f.root.stat(v.name)
	return err == nil && s == v.stamp
}

// isTransient reports whether an error is a temporary condition of this server.
func isTransient(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EIO)
}

// checkRegular returns an error unless the file is a regular one.
func checkRegular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errDirectory
	case !info.Mode().IsRegular():
		return errIrregular
	}
	return nil
}
