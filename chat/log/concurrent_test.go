package log

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"
)

// TestReadersBesideAWriter read in every way while a room grows, is redacted and loses its oldest
// lines.
func TestReadersBesideAWriter(t *testing.T) {
	l := mustOpen(t, t.TempDir(), Options{Segment: 3000, FS: noSyncFS{}})
	mustAppend(t, l, entry("the first"))
	stop := make(chan struct{}) // closed by the writer at its end
	var wg sync.WaitGroup
	for _, read := range []func(*Log) error{readLatest, readAfter, readAll, readBySeek} {
		for range 2 {
			wg.Go(func() {
				for {
					if err := read(l); err != nil {
						t.Error(err)
						return
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
	}
	for i := range 600 {
		e := entry(fmt.Sprint("message ", i))
		e.Time = noon.Add(time.Duration(i) * time.Second)
		b := mustAppend(t, l, e, e, e)
		if i%50 == 7 {
			if err := l.Redact(b.First); err != nil {
				t.Error(err)
			}
		}
		if i%100 == 99 {
			if _, err := l.Retain(0, 30_000, noon); err != nil {
				t.Error(err)
			}
		}
	}
	close(stop)
	wg.Wait()
}

// follows wants a line to begin where the one before ends, unless what was between them is removed.
func follows(l *Log, end int64, line Line) error {
	if at := line.Offset(); at != end && (at < end || end >= l.First()) {
		return fmt.Errorf("the line at %d follows one that ends at %d", at, end)
	}
	if line.Offset() >= l.Committed() {
		return fmt.Errorf("the line at %d is beyond %d", line.Offset(), l.Committed())
	}
	return nil
}

func inOrder(l *Log, lines []Line) error {
	for i := 1; i < len(lines); i++ {
		if err := follows(l, lines[i-1].Offset()+int64(len(lines[i-1])), lines[i]); err != nil {
			return err
		}
	}
	return nil
}

func readLatest(l *Log) error {
	lines, err := l.Latest(30, l.Committed())
	return errors.Join(err, inOrder(l, lines))
}

func readAfter(l *Log) error {
	lines, err := l.After(l.First(), 40)
	return errors.Join(err, inOrder(l, lines))
}

func readAll(l *Log) error {
	r := l.Stream(0)
	defer r.Close()
	end := int64(-1)
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			if r.Bad() > 0 {
				return fmt.Errorf("%d bad bytes", r.Bad())
			}
			return nil
		}
		if err != nil {
			return err
		}
		if end >= 0 {
			if err := follows(l, end, line); err != nil {
				return err
			}
		}
		end = line.Offset() + int64(len(line))
	}
}

func readBySeek(l *Log) error {
	at, err := l.Seek(noon.Add(5 * time.Second))
	if err != nil {
		return err
	}
	line, err := l.At(at)
	if errors.Is(err, ErrNotFound) { // removed meanwhile, or not written yet
		return nil
	}
	if err == nil && line.Time().Before(noon.Add(5*time.Second)) {
		err = fmt.Errorf("Seek leads to %q", line)
	}
	return err
}
