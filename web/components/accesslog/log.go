package accesslog

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// batchSize is the number of buffered bytes that are written without waiting for more.
const batchSize = 32 << 10

// Log is an open log. Its methods are safe for concurrent use.
type Log struct {
	format     func([]byte, *entry) []byte // immutable, like the fields up to bufferSize
	name       string                      // of the file; "": a Writer
	onError    func(error)
	flush      time.Duration
	bufferSize int
	dropped    atomic.Uint64

	// Sent when the first line is buffered, received by the writing goroutine. Capacity 1, never
	// closed.
	hasLines chan struct{}
	// Sent when a batch is buffered, received by the writing goroutine. Capacity 1, never closed.
	hasBatch chan struct{}
	stop     chan struct{} // closed by Close
	ended    chan struct{} // closed by the writing goroutine
	once     sync.Once     // for Close

	writeMu sync.Mutex // guards w, file and spare; locked before mu
	w       io.Writer
	file    *os.File // the same as w; nil with a Writer
	spare   []byte   // the buffer written last, for reuse

	mu         sync.Mutex // guards the fields below
	buffer     []byte
	lineCount  uint64 // lines in buffer
	unreported uint64 // lines dropped for lack of room since the last report
	closed     bool
}

func newLog(cfg Config, format func([]byte, *entry) []byte, room int, flush time.Duration) *Log {
	return &Log{
		format: format, name: cfg.File, onError: cfg.OnError, flush: flush, bufferSize: room, w: cfg.Writer,
		hasLines: make(chan struct{}, 1), hasBatch: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}),
	}
}

// Dropped returns the number of lines that were not written: the buffer was full, writing failed,
// or the log was closed.
func (l *Log) Dropped() uint64 { return l.dropped.Load() }

// add buffers a line.
func (l *Log) add(line []byte) {
	l.mu.Lock()
	before := len(l.buffer)
	if l.closed || before+len(line) > l.bufferSize {
		l.unreported++
		l.mu.Unlock()
		l.dropped.Add(1)
		return
	}
	l.buffer = append(l.buffer, line...)
	l.lineCount++
	after := len(l.buffer)
	l.mu.Unlock()
	if before == 0 {
		signal(l.hasLines)
	}
	if before < batchSize && after >= batchSize {
		signal(l.hasBatch)
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// write is the log's goroutine. It writes the buffer when it has a batch, or when the first line
// has waited for the flush interval.
func (l *Log) write() {
	defer close(l.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.hasLines:
		case <-l.stop:
			return
		}
		timer.Reset(l.flush)
		select {
		case <-timer.C:
		case <-l.hasBatch:
		case <-l.stop:
			return
		}
		l.writeMu.Lock()
		l.writeBufferLocked()
		l.writeMu.Unlock()
	}
}

// writeBufferLocked writes the whole buffer. The caller holds writeMu.
func (l *Log) writeBufferLocked() {
	l.mu.Lock()
	lines, n, missed := l.buffer, l.lineCount, l.unreported
	l.buffer, l.lineCount, l.unreported = l.spare[:0], 0, 0
	l.mu.Unlock()
	if missed > 0 && l.onError != nil {
		l.onError(fmt.Errorf("accesslog: %d lines are lost: the buffer was full, because the disk is slower than the exchanges", missed))
	}
	if len(lines) > 0 {
		if _, err := l.w.Write(lines); err != nil {
			l.dropped.Add(n)
			if l.onError != nil {
				l.onError(fmt.Errorf("accesslog: %d lines are lost: %w", n, err))
			}
		}
	}
	l.spare = lines
}

// Reopen writes the buffer to the current file, and then opens the file that has its name now. If
// that fails, the log keeps the current file.
func (l *Log) Reopen() error {
	if l.name == "" {
		return nil
	}
	f, err := open(l.name)
	if err != nil {
		return err
	}
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if l.file == nil { // closed meanwhile
		return f.Close()
	}
	l.writeBufferLocked()
	old := l.file
	l.file, l.w = f, f
	return old.Close()
}

// Close writes the buffer and closes the file. Exchanges that end later are counted as dropped. It
// may be called several times.
func (l *Log) Close() (err error) {
	l.once.Do(func() {
		l.mu.Lock()
		l.closed = true
		l.mu.Unlock()
		close(l.stop)
		<-l.ended
		l.writeMu.Lock()
		defer l.writeMu.Unlock()
		l.writeBufferLocked()
		if l.file != nil {
			err = l.file.Close()
			l.file = nil
		}
	})
	return err
}
