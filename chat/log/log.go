package log

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"weir/internal/durable"
)

// Errors that say why a room takes no messages now. It can be read all the same, and may take the
// next one.
var (
	// ErrFull: the disk has no room for the batch.
	ErrFull = errors.New("chat/log: the disk is full")
	// ErrFailing: the disk refused or may have lost the batch.
	ErrFailing = errors.New("chat/log: the disk is failing")
	// ErrNotFound: there is no line at an offset.
	ErrNotFound = errors.New("chat/log: no message there")
	// ErrReadOnly: the log was opened to be read.
	ErrReadOnly = errors.New("chat/log: opened read-only")
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("chat/log: closed")
)

// Options of Open. The zero value is right for a server.
type Options struct {
	ReadOnly bool  // take no lock and change nothing: for a copy, or beside a server at work
	FS       FS    // what holds the segments; nil: the system's
	Segment  int64 // bytes at which a segment is rolled; 0: 8 MiB
}

// Recovery says what Open, or an Append that found the room out of order, has done about it.
type Recovery struct {
	// bytes of whole lines that were written and not committed: they are committed now
	Kept int64 `json:"kept"`
	Cut  int64 `json:"cut"` // bytes of a torn tail that were cut
	At   int64 `json:"at"`  // the offset at which it was cut
	// committed bytes that are gone: somebody cut the file, or the disk lost what it said to have
	Lost int64 `json:"lost"`
	// bytes seen on the way that are no whole line, and have whole lines behind them
	Bad  int64 `json:"bad"`
	Next int64 `json:"next"` // where the next line goes

	moved bool // lines are among what is cut: somebody mixed up files
}

// Log is one room's log. Append, Redact, Retain and Close wait for one another; any number of
// goroutines may read meanwhile, and other processes may do all of it.
type Log struct {
	dir      string
	fs       FS
	readOnly bool
	segment  int64
	id       string
	words    words
	bases    atomic.Pointer[[]int64] // segments, as last seen

	mu       sync.Mutex // guards what follows
	write    lock       // held to change the room's files
	sync     lock       // held to sync, and to move COMMITTED; taken before write by who needs both
	active   File       // the last segment, at base
	base     int64
	undo     int64 // what a refused batch left behind begins here, in active; -1: nothing
	discards int64 // what waited at a failed sync begins here and must be cut; -1: nothing
	enc      encoder
	lastEnd  int64 // last is the time of the line that ends here, Unix milliseconds
	last     int64
	buf      []byte
	lines    []Line
	recovery Recovery
	fresh    bool // committed was made by us, and says nothing yet
	closed   bool
}

const defaultSegment = 8 << 20

// Open opens the room in a folder, which it makes if it is not there, and brings it in order after
// a crash.
func Open(dir string, o Options) (*Log, error) {
	l := &Log{dir: dir, fs: o.FS, readOnly: o.ReadOnly, segment: o.Segment, undo: -1, discards: -1, lastEnd: -1}
	if l.fs == nil {
		l.fs = systemFS{}
	}
	if l.segment <= 0 {
		l.segment = defaultSegment
	}
	l.bases.Store(new([]int64))
	open := l.openToWrite
	if o.ReadOnly {
		open = l.openToRead
	}
	if err := open(); err != nil {
		l.closeFiles()
		return nil, err
	}
	l.enc.id = l.id
	if l.words.mapped != nil { // readers may look at the words for as long as they have the Log
		runtime.AddCleanup(l, func(mem []byte) { _ = unix.Munmap(mem) }, l.words.mapped)
	}
	return l, nil
}

func (l *Log) openToWrite() error {
	if err := durable.MkdirAll(l.dir, 0o700); err != nil {
		return fmt.Errorf("chat/log: %w", err)
	}
	var err error
	if l.write, err = openLock(filepath.Join(l.dir, "lock")); err != nil {
		return fmt.Errorf("chat/log: %w", err)
	}
	if l.sync, err = openLock(filepath.Join(l.dir, "committed")); err != nil {
		return fmt.Errorf("chat/log: %w", err)
	}
	return l.inOrder(func() error {
		if err := l.prepareWords(); err != nil {
			return err
		}
		if err := l.prepareID(); err != nil {
			return err
		}
		if err := l.recover(); err != nil {
			return err
		}
		return l.publishWords()
	})
}

// inOrder calls do with both locks held.
func (l *Log) inOrder(do func() error) error {
	if err := l.sync.take(); err != nil {
		return err
	}
	defer l.sync.release()
	if err := l.write.take(); err != nil {
		return err
	}
	defer l.write.release()
	return do()
}

// prepareWords maps committed. A file that has not all its bytes yet says nothing: until
// publishWords the numbers are our own.
func (l *Log) prepareWords() error {
	info, err := l.sync.f.Stat()
	if err != nil {
		return l.failing("look at the file committed", err)
	}
	if l.fresh = info.Size() < wordsSize; l.fresh {
		l.words = ownWords(0)
		return nil
	}
	l.words, err = mapWords(l.sync.f, true)
	return err
}

// publishWords gives committed its bytes, on the disk, so that storing into the mapping needs no
// room there.
func (l *Log) publishWords() error {
	if l.words.mapped != nil {
		return nil
	}
	b := binary.NativeEndian.AppendUint64(nil, uint64(l.words.committed()))
	b = binary.NativeEndian.AppendUint64(b, uint64(l.words.end()))
	_, err := l.sync.f.WriteAt(b, 0)
	if err == nil {
		err = l.sync.f.Sync()
	}
	if err != nil {
		return l.failing("make the file committed", err)
	}
	l.words, err = mapWords(l.sync.f, true)
	return err
}

// prepareID reads the room's id. A room without one takes it from its first line, a new room draws
// it.
func (l *Log) prepareID() error {
	text, err := os.ReadFile(filepath.Join(l.dir, "id"))
	if id, ok := strings.CutSuffix(string(text), "\n"); err == nil && ok && isID([]byte(id)) {
		l.id = id
		return nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("chat/log: %w", err)
	}
	if l.id, err = l.idOfLines(); err != nil || l.readOnly {
		return err
	}
	if l.id == "" {
		var b [5]byte
		_, _ = rand.Read(b[:]) // never fails
		l.id = strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
	}
	if err := durable.ReplaceFile(filepath.Join(l.dir, "id"), []byte(l.id+"\n"), 0o600); err != nil {
		return l.failing("make the file id", err)
	}
	return nil
}

// idOfLines returns the id in the first line, "" if there is none.
func (l *Log) idOfLines() (string, error) {
	if _, err := l.relist(); err != nil {
		return "", err
	}
	r := l.reader(0, 0)
	r.all = true
	defer r.Close()
	line, err := r.Next()
	if errors.Is(err, io.EOF) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return string(line[msgidAt : msgidAt+idSize]), nil
}

// openToRead finds out how far may be read: what committed says, or what is whole.
func (l *Log) openToRead() error {
	bases, err := l.relist()
	if err != nil {
		return err
	}
	if len(bases) == 0 {
		return fmt.Errorf("chat/log: %s has no segments: is it a room's folder?", l.dir)
	}
	if err := l.prepareID(); err != nil {
		return err
	}
	f, err := os.Open(filepath.Join(l.dir, "committed"))
	if err == nil {
		defer f.Close()
		if info, e := f.Stat(); e == nil && info.Size() >= wordsSize {
			l.words, err = mapWords(f, false)
			return err
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("chat/log: %w", err)
	}
	all, err := l.extents(bases)
	if err != nil {
		return err
	}
	end, _, err := l.scan(lastUsed(all), &Recovery{})
	l.words = ownWords(end)
	return err
}

// failing wraps what the file system said about something that a writer wanted.
func (l *Log) failing(what string, err error) error {
	kind := ErrFailing
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		kind = ErrFull
	}
	if errors.Is(err, ErrFull) || errors.Is(err, ErrFailing) {
		return err
	}
	return fmt.Errorf("%w: %s: can't %s: %w", kind, l.dir, what, err)
}

// ID is the room's id, 8 characters.
func (l *Log) ID() string { return l.id }

// Committed is the offset behind the last line that may be read.
func (l *Log) Committed() int64 { return l.words.committed() }

// First is the offset at which the oldest segment begins.
func (l *Log) First() int64 {
	bases := l.known()
	if len(bases) == 0 {
		return 0
	}
	return bases[0]
}

// Recovery is what was done when the room was last found out of order. Not while Append is called.
func (l *Log) Recovery() Recovery {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.recovery
}

// Close gives back the files. Readers that are open may go on.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	return l.closeFiles()
}

func (l *Log) closeFiles() error {
	var all []error
	for _, f := range []*os.File{l.write.f, l.sync.f} {
		if f != nil {
			all = append(all, f.Close())
		}
	}
	if l.active != nil {
		all = append(all, l.active.Close())
	}
	return errors.Join(all...)
}
