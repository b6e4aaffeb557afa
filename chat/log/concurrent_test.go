package log

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/disk"
)

// TestConcurrentReadersGetLinesInOrder reads by Latest, After, Stream and Seek while a writer
// appends, redacts and removes the oldest lines.
func TestConcurrentReadersGetLinesInOrder(t *testing.T) {
	l := mustOpen(t, t.TempDir(), Options{Segment: 3000, Disk: noSync})
	mustAppend(t, l, entry("the first"))
	stop := make(chan struct{}) // closed by the writer at its end
	var wg sync.WaitGroup
	for _, read := range []func(*Log) error{readLatest, readAfter, readAll, readBySeek} {
		for range 2 {
			wg.Go(func() {
				for {
					if err := read(l); err != nil {
						t.Errorf("reading beside a writer: %v", err)
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
				t.Errorf("Redact beside readers: got %v, want nil", err)
			}
		}
		if i%100 == 99 {
			if _, err := l.Retain(0, 30_000, noon); err != nil {
				t.Errorf("Retain beside readers: got %v, want nil", err)
			}
		}
	}
	close(stop)
	wg.Wait()
}

// follows returns an error if a line does not begin where the one before ends, unless the bytes
// between them were removed.
func follows(l *Log, end int64, line Line) error {
	if at := line.Offset(); at != end && (at < end || end >= l.First()) {
		return fmt.Errorf("got a line at offset %d after one that ends at %d, want no lines left out", at, end)
	}
	if line.Offset() >= l.Committed() {
		return fmt.Errorf("got a line at offset %d, want none from the committed offset %d on", line.Offset(), l.Committed())
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
				return fmt.Errorf("Stream: got %d bytes that are no valid line, want 0", r.Bad())
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
		err = fmt.Errorf("Seek(%v): got %q, want a line of that time or later", noon.Add(5*time.Second), line)
	}
	return err
}

// slowList is a disk whose first listing of a folder after arm takes until release is closed.
type slowList struct {
	disk.FS
	arm             atomic.Bool
	listed, release chan struct{} // both unbuffered; closed by the listing, and by the test
}

func (x *slowList) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := x.FS.ReadDir(name)
	if x.arm.CompareAndSwap(true, false) {
		close(x.listed)
		<-x.release
	}
	return entries, err
}

// TestAReadersListingThatIsTooOldDoesNotMoveTheWriterBack lists the segments in a reader before a
// new one is created, and stores the list afterwards.
func TestAReadersListingThatIsTooOldDoesNotMoveTheWriterBack(t *testing.T) {
	d := &slowList{FS: disk.System, listed: make(chan struct{}), release: make(chan struct{})}
	l := mustOpen(t, t.TempDir(), Options{Segment: 300, Disk: d})
	first := mustAppend(t, l, entry("redacted")).First
	want := 1
	for l.offsets.end()-l.activeBase < 300 {
		mustAppend(t, l, entry("x"))
		want++
	}
	d.arm.Store(true)
	done := make(chan error, 1) // the reader's result
	go func() {
		_, err := l.Seek(noon)
		done <- err
	}()
	<-d.listed
	mustAppend(t, l, entry("in a new segment"))
	close(d.release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	committed := l.Committed()
	if err := l.Redact(first); err != nil {
		t.Fatal(err)
	}
	if got := l.Committed(); got != committed {
		t.Errorf("Redact moved the committed offset from %d to %d, want it unchanged", committed, got)
	}
	mustAppend(t, l, entry("the last"))
	if got := all(t, l); len(got) != want+2 {
		t.Errorf("got %d lines, want the %d that were acknowledged:\n%q", len(got), want+2, got)
	}
}

// retainingDisk is a disk on which the first segment is removed at the first Stat of it.
type retainingDisk struct {
	disk.FS
	first string
}

func (x retainingDisk) Stat(name string) (fs.FileInfo, error) {
	if name == x.first {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return x.FS.Stat(name)
}

// TestARoomIsReadWhileItsFirstSegmentIsRemoved also opens a room whose files id and committed are
// missing: opening it reads the segments then. A caller that sees fs.ErrNotExist takes the room for
// one without messages.
func TestARoomIsReadWhileItsFirstSegmentIsRemoved(t *testing.T) {
	for _, missing := range [][]string{nil, {"id"}, {"committed"}, {"id", "committed"}} {
		t.Run(strings.Join(missing, " and "), func(t *testing.T) {
			dir := t.TempDir()
			l := mustOpen(t, dir, Options{Segment: 200})
			for i := range 10 {
				mustAppend(t, l, entry(fmt.Sprint("message ", i)))
			}
			first := l.segmentPath(l.First())
			removed, err := os.ReadFile(first)
			if err != nil {
				t.Fatal(err)
			}
			kept := int64(10 - bytes.Count(removed, []byte("\n")))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			for _, name := range missing {
				if err := os.Remove(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			l = mustOpen(t, dir, Options{ReadOnly: true, Disk: retainingDisk{disk.System, first}})
			if p, err := l.inspect(); err != nil || p.Lines != kept || len(p.Faults) > 0 {
				t.Errorf("inspect: %+v, %v, want %d lines and no fault", p, err, kept)
			}
		})
	}
}
