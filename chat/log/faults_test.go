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

// wantRefused appends and wants an error that is kind, and that nothing acknowledged before is touched.
func wantRefused(t *testing.T, l *Log, kind error, acknowledged []string) {
	t.Helper()
	if _, err := l.Append([]Entry{entry("refused"), entry("refused too")}); !errors.Is(err, kind) {
		t.Fatalf("Append says %v, want %v", err, kind)
	} else {
		t.Log(err)
	}
	wantLines(t, l, acknowledged)
}

// wantLines wants exactly these lines, from this Log, a reader beside it, and whoever opens a copy of its files.
func wantLines(t *testing.T, l *Log, want []string) {
	t.Helper()
	for _, reader := range []*Log{l, mustOpen(t, l.dir, Options{ReadOnly: true})} {
		if got := all(t, reader); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%d lines are found, want %d:\n%q", len(got), len(want), got)
		}
	}
}

// TestADiskThatFails makes each kind of fault last for some batches, then go away.
func TestADiskThatFails(t *testing.T) {
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
					t.Fatalf("a line goes to %d, before %d", b.First, end)
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

// TestASegmentThatCannotBeMade refuses batches until it can, when the old one is full.
func TestASegmentThatCannotBeMade(t *testing.T) {
	fs := &faultFS{}
	l := mustOpen(t, t.TempDir(), Options{FS: fs, Segment: 300})
	var want []string
	for len(want) < 20 {
		want = append(want, string(mustAppend(t, l, entry("x")).Bytes))
		if l.words.end()-l.base < 300 {
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

// TestOneSyncForAll: a batch that waited while another process synced needs no sync of its own.
func TestOneSyncForAll(t *testing.T) {
	dir := t.TempDir()
	fs := &faultFS{}
	first := mustOpen(t, dir, Options{FS: fs})
	const others = 8
	logs := make([]*Log, others)
	for i := range logs {
		logs[i] = mustOpen(t, dir, Options{FS: fs})
	}
	length := len(encode(t, entry("x"), 0)) // the others are longer, by their offsets' digits
	fs.sync = func() error {                // the first one waits until all have written: the next one then syncs for the rest
		for deadline := time.Now().Add(time.Minute); first.words.end() < int64(others*length) && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		return nil
	}
	before := fs.syncs.Load()
	done := make(chan error, others)
	for _, l := range logs {
		go func() {
			_, err := l.Append([]Entry{entry("x")})
			done <- err
		}()
	}
	for range logs {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := all(t, first); len(got) != others {
		t.Errorf("%d lines, want %d", len(got), others)
	}
	if n := fs.syncs.Load() - before; n > 2 {
		t.Errorf("%d syncs for %d batches that waited together, want one or two", n, others)
	}
}

// TestASlowDisk: several processes' batches on a disk whose syncs take 5 ms are all there, each once and in order.
func TestASlowDisk(t *testing.T) {
	dir := t.TempDir()
	fs := &faultFS{slow: 5 * time.Millisecond}
	const writers, batches = 8, 10
	var wg sync.WaitGroup
	for w := range writers {
		l := mustOpen(t, dir, Options{FS: fs, Segment: 2000})
		wg.Go(func() {
			for i := range batches {
				if _, err := l.Append([]Entry{{noon, "", fmt.Sprintf(":ann!u@h PRIVMSG #room :w%d %d", w, i)}}); err != nil {
					t.Error(err)
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
			t.Errorf("writer %d: %v", w, got)
		}
	}
	t.Logf("%d syncs for %d batches", fs.syncs.Load(), writers*batches)
}
