package files

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"weir/web/components/internal/tag"
)

var (
	errDirectory = errors.New("files: it is a directory")
	errIrregular = errors.New("files: it is no regular file")
	errChanged   = errors.New("files: the file changed while it was sent: replace files by renaming others onto them")
	errRestless  = errors.New("files: the file changed each time it was read: replace files by renaming others onto them")
)

// load makes the entry of a file, and keeps it under key when it fits into the store.
func (f *files) load(key, clean string) (*entry, error) {
	e := &entry{key: strings.Clone(key), kind: contentType(clean), settled: true}
	now := time.Since(f.epoch)
	e.checked.Store(int64(now))
	e.plain.name = name(clean)
	if err := f.read(e, &e.plain); err != nil {
		return nil, err
	}
	for i := range f.codings {
		f.addSibling(e, &f.codings[i])
	}
	if f.store != nil {
		f.keep(e)
	}
	return e, nil
}

// keep keeps an entry. Of a large file that is what is known of it: the file itself is opened again
// each time.
func (f *files) keep(e *entry) {
	if e.plain.data != nil {
		f.store.Put(e.key, e, e.size())
		return
	}
	if !e.plain.stamp.settled(time.Now()) {
		return // its tag is for one response
	}
	known := &entry{key: e.key, kind: e.kind, plain: e.plain, absent: e.absent, coded: e.coded, codings: e.codings, settled: true}
	known.plain.large = nil
	known.checked.Store(e.checked.Load())
	f.store.Put(e.key, known, known.size())
}

// size is what an entry takes in memory, in bytes, about.
func (e *entry) size() int64 {
	n := 1024 + len(e.key) + len(e.plain.data)
	for i := range e.coded {
		n += 512 + len(e.coded[i].data)
	}
	return int64(n)
}

// addSibling adds a compressed file to an entry, if there is one that is not older than the
// original.
func (f *files) addSibling(e *entry, s *sibling) {
	v := variant{name: e.plain.name + s.extension, coding: s}
	if e.plain.data == nil {
		var err error
		if v.stamp, err = f.root.stat(v.name); err != nil || v.stamp.modified < e.plain.stamp.modified {
			e.absent = append(e.absent, v.name)
			return
		}
		v.fields(f.stampTag(v.stamp))
	} else if f.read(e, &v) != nil || v.data == nil || v.stamp.modified < e.plain.stamp.modified {
		v.letGo()
		e.absent = append(e.absent, v.name)
		return
	}
	e.coded = append(e.coded, v)
	e.codings = append(e.codings, s.coding)
}

func (v *variant) letGo() {
	if v.large != nil {
		_ = v.large.Close()
	}
}

// read opens the file of a variant and reads it, if it is small.
func (f *files) read(e *entry, v *variant) error {
	file, s, err := f.root.open(v.name)
	if err != nil {
		return err
	}
	if f.store == nil || s.size > f.largest {
		v.large, v.stamp = file, s
		v.fields(f.stampTag(s))
		return nil
	}
	defer file.Close()
	if v.data, v.stamp, err = whole(file); err != nil {
		return err
	}
	e.settled = e.settled && v.stamp.settled(time.Now())
	v.fields(tag.Of(v.data))
	return nil
}

// regular is what is needed of a file to read it.
type regular interface {
	io.ReaderAt
	Stat() (fs.FileInfo, error)
}

// breath is how long a file that was changed of late is left alone between two readings: who writes
// it in several pieces is seen doing so, unless it stops for that long between two.
const breath = 3 * time.Millisecond

// whole reads what the file held at one moment, and its stamp then. See the package comment.
func whole(file regular) ([]byte, stamp, error) {
	for range 6 {
		data, s, err := attempt(file)
		if err != errRestless {
			return data, s, err
		}
		time.Sleep(breath) // who writes it may be through then
	}
	return nil, stamp{}, errRestless
}

// attempt is one try of whole.
func attempt(file regular) ([]byte, stamp, error) {
	before, err := stampOf(file)
	if err != nil {
		return nil, before, err
	}
	data, err := readAll(file, before.size)
	if err != nil {
		return nil, before, err
	}
	if !before.settled(time.Now()) {
		time.Sleep(breath)
		again, err := readAll(file, before.size)
		if err != nil {
			return nil, before, err
		}
		if !bytes.Equal(data, again) {
			return nil, before, errRestless
		}
	}
	after, err := stampOf(file)
	if err == nil && (before != after || int64(len(data)) != before.size) {
		err = errRestless
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

// fresh says whether an entry still is what is on disk, which it asks the file system about if it
// last did so some time ago.
func (f *files) fresh(e *entry) bool {
	now := time.Since(f.epoch)
	if now-time.Duration(e.checked.Load()) < recheck {
		return true
	}
	if !e.settled || !f.same(&e.plain) {
		return false
	}
	for i := range e.coded {
		if !f.same(&e.coded[i]) {
			return false
		}
	}
	for _, name := range e.absent {
		if s, err := f.root.stat(name); err == nil && s.modified >= e.plain.stamp.modified && (e.plain.data == nil || s.size <= f.largest) {
			return false
		}
	}
	e.checked.Store(int64(now))
	return true
}

func (f *files) same(v *variant) bool {
	s, err := f.root.stat(v.name)
	return err == nil && s == v.stamp
}

// transient says whether a failure is this server's for now, and not about the name.
func transient(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EIO)
}

// kindOf says what is wrong with serving a file.
func kindOf(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errDirectory
	case !info.Mode().IsRegular():
		return errIrregular
	}
	return nil
}
