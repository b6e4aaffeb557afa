package log

import (
	"bytes"
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

	"weir/internal/disk"
	"weir/internal/durable"
)

// Errors of calls that cannot change or find messages. Reads continue to work, and a later call may
// succeed.
var (
	// ErrFull: the disk has no space for the batch.
	ErrFull = errors.New("chat/log: the disk is full")
	// ErrFailing: the disk refused the batch, or may have lost it.
	ErrFailing = errors.New("chat/log: the disk is failing")
	// ErrNotFound: there is no line at the offset.
	ErrNotFound = errors.New("chat/log: no message there")
	// ErrReadOnly: the log is open for reading only.
	ErrReadOnly = errors.New("chat/log: opened read-only")
	// ErrClosed: the log is closed.
	ErrClosed = errors.New("chat/log: closed")
)

// Options of Open. The zero value is for a server.
type Options struct {
	ReadOnly bool    // take no lock and change nothing: for a copy, or while servers use the room
	Disk     disk.FS // nil: the operating system's
	Segment  int64   // size at which a segment is rolled, in bytes; 0: 8 MiB
}

// Recovery is the result of restoring a room, by Open or by an Append that found it inconsistent.
type Recovery struct {
	// bytes of valid lines that were written but not committed, and now are
	Kept int64 `json:"kept"`
	Cut  int64 `json:"cut"` // bytes of a torn tail that were cut
	At   int64 `json:"at"`  // offset of the cut
	// committed bytes that are missing: a process cut the file, or the disk lost synced bytes
	Lost int64 `json:"lost"`
	// bytes of invalid lines with valid lines behind them
	Bad  int64 `json:"bad"`
	Next int64 `json:"next"` // offset of the next line

	// the cut bytes contain valid lines, behind a hole or at wrong places: a copy of them is kept
	keepsCopy bool
}

// Log is one room's log. Append, Redact, Retain and Close run one after another. Any number of
// goroutines may read meanwhile, and other processes may use the room, too.
type Log struct {
	dir         string
	disk        disk.FS
	readOnly    bool
	segmentSize int64
	id          string
	offsets     sharedOffsets
	bases       atomic.Pointer[[]int64] // bases of the segments, when last listed

	mu        sync.Mutex // guards the fields below
	writeLock lock       // held to change the room's files
	// held to sync and to move COMMITTED; taken before writeLock where both are needed
	syncLock   lock
	active     disk.File // last segment; its base is activeBase
	activeBase int64
	fileEnd    int64 // offset of the end of the active file, with padding, when last checked
	undoFrom   int64 // offset in active of a refused batch that is still to be cut; -1: none
	// offset of the batches that a failed sync refused and that are still to be cut; -1: none
	discardFrom  int64
	encoder      encoder
	lastEnd      int64 // offset behind the line of lastTime; -1: unknown
	lastTime     int64
	activity     activity
	padded       bool    // this Log has written padding
	probe        [1]byte // for reading one byte without an allocation
	buf          []byte
	lines        []Line
	recovery     Recovery
	newCommitted bool // the file committed is new and has no valid content yet
	closed       bool
}

const defaultSegment = 8 << 20

// Open opens the room in a folder, creates the folder if it does not exist, and restores the room
// after a crash. With Options.ReadOnly, an error is fs.ErrNotExist if the folder does not exist, or
// has no segments and no acknowledged message.
func Open(dir string, o Options) (*Log, error) {
	l := &Log{dir: dir, disk: disk.Or(o.Disk), readOnly: o.ReadOnly, segmentSize: o.Segment, undoFrom: -1, discardFrom: -1, lastEnd: -1, activity: activity{busyFrom: busyBatches}}
	if l.segmentSize <= 0 {
		l.segmentSize = defaultSegment
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
	l.encoder.id = l.id
	if l.offsets.unmap != nil { // readers may use the mapping as long as they have the Log
		runtime.AddCleanup(l, func(unmap func()) { unmap() }, l.offsets.unmap)
	}
	return l, nil
}

func (l *Log) openToWrite() error {
	if err := l.files().MkdirAll(l.dir, 0o700); err != nil {
		return fmt.Errorf("chat/log: %w", err)
	}
	var err error
	if l.writeLock, err = l.openLock(filepath.Join(l.dir, "lock")); err != nil {
		return fmt.Errorf("chat/log: %w", err)
	}
	if l.syncLock, err = l.openLock(filepath.Join(l.dir, "committed")); err != nil {
		return fmt.Errorf("chat/log: %w", err)
	}
	return l.withLocks(func() error {
		if err := l.mapCommitted(); err != nil {
			return err
		}
		if err := l.prepareID(); err != nil {
			return err
		}
		if err := l.recoverLocked(); err != nil {
			return err
		}
		return l.initCommitted()
	})
}

// withLocks calls do while it holds both locks.
func (l *Log) withLocks(do func() error) error {
	if err := l.syncLock.take(); err != nil {
		return err
	}
	defer l.syncLock.release()
	if err := l.writeLock.take(); err != nil {
		return err
	}
	defer l.writeLock.release()
	return do()
}

// mapCommitted maps the file committed. Before a new file has its bytes, which initCommitted
// writes, the offsets are in private memory.
func (l *Log) mapCommitted() error {
	info, err := l.syncLock.f.Stat()
	if err != nil {
		return l.diskError("stat the file committed", err)
	}
	if l.newCommitted = info.Size() < offsetsSize; l.newCommitted {
		l.offsets = privateOffsets(0)
		return nil
	}
	l.offsets, err = mapOffsets(l.syncLock.f, true)
	return err
}

// initCommitted writes the first content of the file committed to disk, so that a later store into
// the mapping needs no disk space.
func (l *Log) initCommitted() error {
	if l.offsets.unmap != nil {
		return nil
	}
	b := binary.NativeEndian.AppendUint64(nil, uint64(l.offsets.committed()))
	b = binary.NativeEndian.AppendUint64(b, uint64(l.offsets.end()))
	_, err := l.syncLock.f.WriteAt(b, 0)
	if err == nil {
		err = l.syncLock.f.Sync()
	}
	if err != nil {
		return l.diskError("create the file committed", err)
	}
	l.offsets, err = mapOffsets(l.syncLock.f, true)
	return err
}

// prepareID reads the room's id. If the file is missing, the id is that of the first line, or a
// random one in a new room.
func (l *Log) prepareID() error {
	text, err := disk.ReadFile(l.disk, filepath.Join(l.dir, "id"))
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
	if err := l.files().ReplaceFile(filepath.Join(l.dir, "id"), []byte(l.id+"\n"), 0o600); err != nil {
		return l.diskError("create the file id", err)
	}
	return nil
}

// idOfLines returns the id in the first line, "" if there is none.
func (l *Log) idOfLines() (string, error) {
	if _, err := l.relist(); err != nil {
		return "", err
	}
	r := l.reader(0, 0)
	r.uncommitted = true
	defer r.Close()
	line, err := r.Next()
	if errors.Is(err, io.EOF) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return string(line[msgidAt : msgidAt+idSize]), nil
}

// openToRead determines the end of the readable lines: COMMITTED, or the end of the last valid
// line.
func (l *Log) openToRead() error {
	return l.withSegments(func(bases []int64) error {
		if len(bases) == 0 {
			return l.noSegments()
		}
		if err := l.prepareID(); err != nil {
			return err
		}
		f, err := disk.Open(l.disk, filepath.Join(l.dir, "committed"))
		if err == nil {
			defer f.Close()
			if info, e := f.Stat(); e == nil && info.Size() >= offsetsSize {
				l.offsets, err = mapOffsets(f, false)
				return err
			}
		} else if !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("chat/log: %w", err)
		}
		all, err := l.extents(bases)
		if err != nil {
			return err
		}
		end, _, err := l.scan(lastUsed(all), all, &Recovery{})
		l.offsets = privateOffsets(end)
		return err
	})
}

// noSegments returns the error of reading a folder without segments. It is fs.ErrNotExist if no
// message was ever acknowledged: a server creates the folder first, and may be killed then.
func (l *Log) noSegments() error {
	ends, err := disk.ReadFile(l.disk, filepath.Join(l.dir, "committed"))
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("chat/log: %w", err)
	case len(bytes.Trim(ends, "\x00")) > 0:
		return fmt.Errorf("chat/log: %s has no segments, but messages were acknowledged: restore them from a backup", l.dir)
	}
	return fmt.Errorf("chat/log: %s has no segments, is it a room's folder? %w", l.dir, os.ErrNotExist)
}

// IsFull reports whether an error says that the disk, or the quota of its user, has no space.
func IsFull(err error) bool {
	return errors.Is(err, ErrFull) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// diskError wraps an error of the file system with the operation that failed.
func (l *Log) diskError(what string, err error) error {
	kind := ErrFailing
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		kind = ErrFull
	}
	if errors.Is(err, ErrFull) || errors.Is(err, ErrFailing) {
		return err
	}
	return fmt.Errorf("%w: %s: cannot %s: %w", kind, l.dir, what, err)
}

// files writes files durably.
func (l *Log) files() durable.Files { return durable.Files{Disk: l.disk} }

// ID returns the room's id, 8 characters.
func (l *Log) ID() string { return l.id }

// Committed returns the offset behind the last line that may be read.
func (l *Log) Committed() int64 { return l.offsets.committed() }

// First returns the offset of the oldest segment.
func (l *Log) First() int64 {
	bases := l.knownBases()
	if len(bases) == 0 {
		return 0
	}
	return bases[0]
}

// Recovery returns the result of the last restoration. It waits for a running Append.
func (l *Log) Recovery() Recovery {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.recovery
}

// Close closes the files, and cuts a refused batch before if that is still to be done. Open Readers
// continue to work.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	err := l.cutRefused()
	l.cutOwnPadding()
	return errors.Join(err, l.closeFiles())
}

// cutRefused cuts a refused batch that could not be cut when it was refused. Otherwise the next
// Open would keep its lines.
func (l *Log) cutRefused() error {
	if l.discardFrom < 0 && l.undoFrom < 0 {
		return nil
	}
	return l.withLocks(l.restoreLocked)
}

func (l *Log) closeFiles() error {
	var all []error
	for _, f := range []disk.File{l.writeLock.f, l.syncLock.f} {
		if f != nil {
			all = append(all, f.Close())
		}
	}
	if l.active != nil {
		all = append(all, l.active.Close())
	}
	return errors.Join(all...)
}
