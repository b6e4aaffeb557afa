package accesslog

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// batch is how many bytes of lines are written without waiting for more.
const batch = 32 << 10

// Log is a log that is open. Its methods may be called from any goroutine.
type Log struct {
	format  func([]byte, *entry) []byte // immutable, as is what follows up to room
	name    string                      // of the file, "" when it is a writer
	failed  func(error)
	flush   time.Duration
	room    int
	dropped atomic.Uint64

	// from who adds the first line that waits -> to the writer; capacity 1, never closed
	some chan struct{}
	// from who adds a line that makes a batch -> to the writer; capacity 1, never closed
	many  chan struct{}
	stop  chan struct{} // closed by Close
	ended chan struct{} // closed by the writer
	once  sync.Once     // of Close

	out   sync.Mutex // guards w, file and spare; taken before mu
	w     io.Writer
	file  *os.File // the same as w, nil when it is somebody else's
	spare []byte   // what was written before and can be filled again

	mu      sync.Mutex // guards what follows
	waiting []byte
	lines   uint64 // that wait
	missed  uint64 // that found no room and have not been reported
	closed  bool
}

func newLog(cfg Config, format func([]byte, *entry) []byte, room int, flush time.Duration) *Log {
	return &Log{
		format: format, name: cfg.File, failed: cfg.OnError, flush: flush, room: room, w: cfg.Writer,
		some: make(chan struct{}, 1), many: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}),
	}
}

// Dropped is how many lines were not written: they found too many waiting, writing failed, or the
// log was closed.
func (l *Log) Dropped() uint64 { return l.dropped.Load() }

// add has a line wait to be written.
func (l *Log) add(line []byte) {
	l.mu.Lock()
	before := len(l.waiting)
	if l.closed || before+len(line) > l.room {
		l.missed++
		l.mu.Unlock()
		l.dropped.Add(1)
		return
	}
	l.waiting = append(l.waiting, line...)
	l.lines++
	after := len(l.waiting)
	l.mu.Unlock()
	if before == 0 {
		signal(l.some)
	}
	if before < batch && after >= batch {
		signal(l.many)
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// write writes what waits: when it is a batch, or has waited long enough. It is the log's
// goroutine.
func (l *Log) write() {
	defer close(l.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.some:
		case <-l.stop:
			return
		}
		timer.Reset(l.flush)
		select {
		case <-timer.C:
		case <-l.many:
		case <-l.stop:
			return
		}
		l.out.Lock()
		l.writeOut()
		l.out.Unlock()
	}
}

// writeOut writes all that waits. The caller holds out.
func (l *Log) writeOut() {
	l.mu.Lock()
	lines, n, missed := l.waiting, l.lines, l.missed
	l.waiting, l.lines, l.missed = l.spare[:0], 0, 0
	l.mu.Unlock()
	if missed > 0 && l.failed != nil {
		l.failed(fmt.Errorf("accesslog: %d lines are lost: they came faster than they could be written, and more waited than buffer says", missed))
	}
	if len(lines) > 0 {
		if _, err := l.w.Write(lines); err != nil {
			l.dropped.Add(n)
			if l.failed != nil {
				l.failed(fmt.Errorf("accesslog: %d lines are lost: %w", n, err))
			}
		}
	}
	l.spare = lines
}

// Reopen writes what waits to the file as it was, and goes on with the one that has its name now.
// When that can't be opened, it stays with the former.
func (l *Log) Reopen() error {
	if l.name == "" {
		return nil
	}
	f, err := open(l.name)
	if err != nil {
		return err
	}
	l.out.Lock()
	defer l.out.Unlock()
	if l.file == nil { // it was closed
		return f.Close()
	}
	l.writeOut()
	old := l.file
	l.file, l.w = f, f
	return old.Close()
}

// Close writes what waits, and closes the file. Exchanges that end later are counted as dropped. It
// may be called several times.
func (l *Log) Close() (err error) {
	l.once.Do(func() {
		l.mu.Lock()
		l.closed = true
		l.mu.Unlock()
		close(l.stop)
		<-l.ended
		l.out.Lock()
		defer l.out.Unlock()
		l.writeOut()
		if l.file != nil {
			err = l.file.Close()
			l.file = nil
		}
	})
	return err
}
