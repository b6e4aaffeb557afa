package log

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/disk"
	"weir/internal/disk/simdisk"

	"golang.org/x/sys/unix"
)

// wantRefused appends and wants an error that is kind, and that nothing acknowledged before is
// touched.
func wantRefused(t *testing.T, d *simdisk.Disk, l *Log, kind error, acknowledged []string) {
	t.Helper()
	if _, err := l.Append([]Entry{entry("refused"), entry("refused too")}); !errors.Is(err, kind) {
		t.Fatalf("Append: got %v, want %v", err, kind)
	} else {
		t.Log(err)
	}
	wantLines(t, d, l, acknowledged)
}

// wantLines requires exactly these lines from this Log and from a reader with another one.
func wantLines(t *testing.T, d *simdisk.Disk, l *Log, want []string) {
	t.Helper()
	for _, reader := range []*Log{l, mustOpen(t, l.dir, Options{ReadOnly: true, Disk: d.Process()})} {
		if got := all(t, reader); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("got %d lines, want %d:\n%q", len(got), len(want), got)
		}
	}
}

// wantAfterCrash requires exactly these lines after a loss of power, in several of its outcomes.
func wantAfterCrash(t *testing.T, d *simdisk.Disk, want []string) {
	t.Helper()
	for range 10 {
		after := d.Crash()
		wantLines(t, after, mustOpen(t, "/room", Options{Disk: after.Process()}), want)
	}
}

// fail returns faults: calls of the kinds in errs fail. A write stores the part that stored
// returns.
func fail(errs map[simdisk.Op]error, stored func(bytes int) int) simdisk.Faults {
	return simdisk.Faults{Fail: func(c simdisk.Call) (n int, err error) {
		if stored != nil {
			n = stored(c.Bytes)
		}
		return n, errs[c.Op]
	}}
}

// TestADiskFaultLosesNoAcknowledgedLine makes each kind of fault last for some batches, then end.
func TestADiskFaultLosesNoAcknowledgedLine(t *testing.T) {
	const write, sync, cut, create = simdisk.OpWrite, simdisk.OpSync, simdisk.OpTruncate, simdisk.OpCreate
	half := func(n int) int { return n / 2 }
	line := func(int) int { return len(encode(t, entry("refused"), 1000)) } // at a 4-digit offset
	type errs = map[simdisk.Op]error
	for _, c := range []struct {
		name   string
		faults simdisk.Faults
		want   error
	}{
		{"a full disk", fail(errs{write: unix.ENOSPC}, nil), ErrFull},
		{"a quota", fail(errs{write: unix.EDQUOT}, nil), ErrFull},
		{"half a batch fits", fail(errs{write: unix.ENOSPC}, half), ErrFull},
		{"a whole line of two fits", fail(errs{write: unix.ENOSPC}, line), ErrFull},
		{"a write fails", fail(errs{write: unix.EIO}, nil), ErrFailing},
		{"a write and its taking back fail", fail(errs{write: unix.EIO, cut: unix.EIO}, line), ErrFailing},
		{"a sync fails", fail(errs{sync: unix.EIO}, nil), ErrFailing},
		{"a sync of files fails", simdisk.Faults{SyncFile: 1}, ErrFailing},
		{"a sync finds the disk full", fail(errs{sync: unix.ENOSPC}, nil), ErrFull},
		{"a sync fails and no file can be made", fail(errs{sync: unix.EIO, create: unix.EIO}, nil), ErrFailing},
		{"a sync and the cut fail", fail(errs{sync: unix.EIO, cut: unix.EIO}, nil), ErrFailing},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := simdisk.New(1)
			l := mustOpen(t, "/room", Options{Disk: d.Process(), Segment: 1000})
			var want []string
			for i := range 8 {
				want = append(want, string(mustAppend(t, l, entry(fmt.Sprint("before ", i))).Bytes))
			}
			end := l.Committed()
			for range 3 {
				d.SetFaults(c.faults)
				for range 3 {
					wantRefused(t, d, l, c.want, want)
				}
				d.SetFaults(simdisk.Faults{})
				b := mustAppend(t, l, entry("when it works again"))
				if b.First < end {
					t.Fatalf("got a line at offset %d, want %d or more (offsets are never reused)", b.First, end)
				}
				want, end = append(want, string(b.Bytes)), b.End
				wantLines(t, d, l, want)
			}
			l.Close()
			wantLines(t, d, mustOpen(t, "/room", Options{Disk: d.Process()}), want)
			wantAfterCrash(t, d, want)
		})
	}
}

// TestASegmentThatCannotBeCreatedRefusesTheBatch refuses batches until it can, when the old one is
// full.
func TestASegmentThatCannotBeCreatedRefusesTheBatch(t *testing.T) {
	d := simdisk.New(1)
	l := mustOpen(t, "/room", Options{Disk: d.Process(), Segment: 300})
	var want []string
	for len(want) < 20 {
		want = append(want, string(mustAppend(t, l, entry("x")).Bytes))
		if l.offsets.end()-l.activeBase < 300 {
			continue
		}
		d.SetFaults(fail(map[simdisk.Op]error{simdisk.OpCreate: unix.ENOSPC}, nil))
		wantRefused(t, d, l, ErrFull, want)
		wantRefused(t, d, l, ErrFull, want)
		d.SetFaults(simdisk.Faults{SyncFile: 1})
		wantRefused(t, d, l, ErrFailing, want)
		d.SetFaults(simdisk.Faults{})
	}
	wantLines(t, d, l, want)
	wantAfterCrash(t, d, want)
}

// together has several Logs append a message each to one room. The first sync waits until all have
// written; what it says is said by first.
func together(t *testing.T, first error) (logs []*Log, errs []error, syncs int64) {
	t.Helper()
	dir := t.TempDir()
	var count atomic.Int64
	var atFirst atomic.Pointer[func() error] // called by a sync; nil until all Logs are open
	counting := syncDisk{disk.System, func(f disk.File) error {
		count.Add(1)
		if wait := atFirst.Load(); wait != nil {
			if err := (*wait)(); err != nil {
				return err
			}
		}
		return f.Datasync()
	}}
	const others = 8
	for range others {
		logs = append(logs, mustOpen(t, dir, Options{Disk: counting}))
	}
	length := len(encode(t, entry("x"), 0)) // the others are longer, by their offsets' digits
	written := logs[0].offsets
	var once sync.Once
	wait := func() (err error) {
		once.Do(func() {
			for deadline := time.Now().Add(time.Minute); written.end() < int64(others*length) && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			err = first
		})
		return err
	}
	atFirst.Store(&wait)
	before := count.Load()
	errs = make([]error, others)
	var wg sync.WaitGroup
	for i, l := range logs {
		wg.Go(func() { _, errs[i] = l.Append([]Entry{entry("x")}) })
	}
	wg.Wait()
	return logs, errs, count.Load() - before
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
	var syncs atomic.Int64
	slow := syncDisk{disk.System, func(f disk.File) error {
		syncs.Add(1)
		time.Sleep(5 * time.Millisecond)
		return f.Datasync()
	}}
	const writers, batches = 8, 10
	var wg sync.WaitGroup
	for w := range writers {
		l := mustOpen(t, dir, Options{Disk: slow, Segment: 2000})
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
	t.Logf("%d syncs for %d batches", syncs.Load(), writers*batches)
}
