package log

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// wantRefused appends and wants an error that is kind, and that nothing acknowledged before is
// touched.
func wantRefused(t *testing.T, l *Log, kind error, acknowledged []string) {
	t.Helper()
	if _, err := l.Append([]Entry{entry("refused"), entry("refused too")}); !errors.Is(err, kind) {
		t.Fatalf("Append: got %v, want %v", err, kind)
	} else {
		t.Log(err)
	}
	wantLines(t, l, acknowledged)
}

// wantLines requires exactly these lines from this Log, from a reader with another one, and from a
// copy of its files.
func wantLines(t *testing.T, l *Log, want []string) {
	t.Helper()
	for _, reader := range []*Log{l, mustOpen(t, l.dir, Options{ReadOnly: true})} {
		if got := all(t, reader); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("got %d lines, want %d:\n%q", len(got), len(want), got)
		}
	}
}

// TestADiskFaultLosesNoAcknowledgedLine makes each kind of fault last for some batches, then end.
func TestADiskFaultLosesNoAcknowledgedLine(t *testing.T) {
	full := func([]byte) (int, error) { return 0, unix.ENOSPC }
	for _, c := range []struct {
		name string
		fail *faultFS
		want error
	}{
		{"a full disk", &faultFS{write: full}, ErrFull},
		{"a quota", &faultFS{write: func([]byte) (int, error) { return 0, unix.EDQUOT }}, ErrFull},
		{"half a batch fits", &faultFS{write: func(p []byte) (int, error) { return len(p) / 2, unix.ENOSPC }}, ErrFull},
		{"a whole line of two fits", &faultFS{write: func(p []byte) (int, error) { return lineLength(p), unix.ENOSPC }}, ErrFull},
		{"a write fails", &faultFS{write: func([]byte) (int, error) { return 0, unix.EIO }}, ErrFailing},
		{"a write and its taking back fail", &faultFS{write: func(p []byte) (int, error) { return lineLength(p), unix.EIO },
			cut: func(int64) error { return unix.EIO }}, ErrFailing},
		{"a sync fails", &faultFS{sync: func() error { return unix.EIO }}, ErrFailing},
		{"a sync finds the disk full", &faultFS{sync: func() error { return unix.ENOSPC }}, ErrFull},
		{"a sync fails and no file can be made", &faultFS{sync: func() error { return unix.EIO },
			open: func(_ string, flag int) error { return onCreate(flag, unix.EIO) }}, ErrFailing},
		{"a sync and the cut fail", &faultFS{sync: func() error { return unix.EIO }, cut: func(int64) error { return unix.EIO }}, ErrFailing},
		{"a sync and that of the folder fail", &faultFS{sync: func() error { return unix.EIO }, dirSync: func() error { return unix.EIO }}, ErrFailing},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := &faultFS{}
			l := mustOpen(t, t.TempDir(), Options{FS: fs, Segment: 1000})
			var want []string
			for i := range 3 {
				want = append(want, string(mustAppend(t, l, entry(fmt.Sprint("before ", i))).Bytes))
			}
			end := l.Committed()
			for range 3 {
				fs.write, fs.sync, fs.open, fs.cut, fs.dirSync = c.fail.write, c.fail.sync, c.fail.open, c.fail.cut, c.fail.dirSync
				for range 3 {
					wantRefused(t, l, c.want, want)
				}
				fs.write, fs.sync, fs.open, fs.cut, fs.dirSync = nil, nil, nil, nil, nil
				b := mustAppend(t, l, entry("when it works again"))
				if b.First < end {
					t.Fatalf("got a line at offset %d, want %d or more (offsets are never reused)", b.First, end)
				}
				want, end = append(want, string(b.Bytes)), b.End
				wantLines(t, l, want)
			}
			l.Close()
			wantLines(t, mustOpen(t, l.dir, Options{}), want)
			wantLines(t, mustOpen(t, copyRoom(t, l.dir, false), Options{}), want)
		})
	}
}

func onCreate(flag int, err error) error {
	if flag&unix.O_CREAT != 0 {
		return err
	}
	return nil
}

// TestASegmentThatCannotBeCreatedRefusesTheBatch refuses batches until it can, when the old one is
// full.
func TestASegmentThatCannotBeCreatedRefusesTheBatch(t *testing.T) {
	fs := &faultFS{}
	l := mustOpen(t, t.TempDir(), Options{FS: fs, Segment: 300})
	var want []string
	for len(want) < 20 {
		want = append(want, string(mustAppend(t, l, entry("x")).Bytes))
		if l.offsets.end()-l.activeBase < 300 {
			continue
		}
		fs.open = func(_ string, flag int) error { return onCreate(flag, unix.ENOSPC) }
		wantRefused(t, l, ErrFull, want)
		wantRefused(t, l, ErrFull, want)
		fs.open = nil
		fs.sync = func() error { return unix.EIO }
		wantRefused(t, l, ErrFailing, want)
		fs.sync = nil
	}
	wantLines(t, l, want)
}

// together has several Logs append a message each to one room. The first sync waits until all have
// written; what it says is said by first.
func together(t *testing.T, first error) (logs []*Log, errs []error, syncs int64) {
	t.Helper()
	dir := t.TempDir()
	fs := &faultFS{}
	const others = 8
	for range others {
		logs = append(logs, mustOpen(t, dir, Options{FS: fs}))
	}
	length := len(encode(t, entry("x"), 0)) // the others are longer, by their offsets' digits
	written := logs[0].offsets
	var once sync.Once
	fs.sync = func() (err error) {
		once.Do(func() {
			for deadline := time.Now().Add(time.Minute); written.end() < int64(others*length) && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			err = first
		})
		return err
	}
	before := fs.syncs.Load()
	errs = make([]error, others)
	var wg sync.WaitGroup
	for i, l := range logs {
		wg.Go(func() { _, errs[i] = l.Append([]Entry{entry("x")}) })
	}
	wg.Wait()
	return logs, errs, fs.syncs.Load() - before
}

// TestBatchesThatWaitTogetherShareASync checks that a batch that waited while another process
// synced needs no sync of its own.
func TestBatchesThatWaitTogetherShareASync(t *testing.T) {
	logs, errs, syncs := together(t, nil)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if got := all(t, logs[0]); len(got) != len(logs) {
		t.Errorf("got %d lines, want the %d that were acknowledged", len(got), len(logs))
	}
	if syncs > 2 { // the first one's covers what was written when it began, the next one's the rest
		t.Errorf("got %d syncs for %d batches that waited together, want one or two", syncs, len(logs))
	}
}

// TestAFailedSyncRefusesEveryWaitingBatch checks that after a failed sync no batch is acknowledged,
// and no line of any is found.
func TestAFailedSyncRefusesEveryWaitingBatch(t *testing.T) {
	logs, errs, _ := together(t, unix.EIO)
	for i, err := range errs {
		if !errors.Is(err, ErrFailing) {
			t.Errorf("process %d: Append whose sync failed: got %v, want ErrFailing", i, err)
		}
	}
	if got := all(t, logs[0]); len(got) != 0 {
		t.Errorf("got the refused line %q, want none", got)
	}
	for i, l := range logs {
		mustAppend(t, l, entry("when it works again"))
		if got := all(t, logs[0]); len(got) != i+1 {
			t.Errorf("batch %d after the disk works again: got %d lines, want %d", i, len(got), i+1)
		}
	}
}

// TestASlowDiskKeepsEachWritersOrder has several processes append to a disk whose syncs take 5 ms.
// All batches are found, each process's in the order of its appends.
func TestASlowDiskKeepsEachWritersOrder(t *testing.T) {
	dir := t.TempDir()
	fs := &faultFS{slow: 5 * time.Millisecond}
	const writers, batches = 8, 10
	var wg sync.WaitGroup
	for w := range writers {
		l := mustOpen(t, dir, Options{FS: fs, Segment: 2000})
		wg.Go(func() {
			for i := range batches {
				if _, err := l.Append([]Entry{{noon, "", fmt.Sprintf(":ann!u@h PRIVMSG #room :w%d %d", w, i)}}); err != nil {
					t.Errorf("Append on a slow disk: got %v, want nil", err)
				}
			}
		})
	}
	wg.Wait()
	f := newFollow()
	for _, line := range all(t, mustOpen(t, dir, Options{ReadOnly: true})) {
		if err := f.take(Line(line)); err != nil {
			t.Fatal(err)
		}
	}
	for w := range writers {
		if got := f.seen[fmt.Sprint("w", w)]; len(got) != batches || !slices.IsSorted(got) {
			t.Errorf("writer %d: got messages %v, want %d in rising order", w, got, batches)
		}
	}
	t.Logf("%d syncs for %d batches", fs.syncs.Load(), writers*batches)
}
