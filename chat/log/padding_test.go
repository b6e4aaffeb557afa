package log

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/internal/disk"
	"weir/internal/disk/simdisk"
)

// TestPaddingFollowsTheActivityOfARoom appends batches at several rates.
func TestPaddingFollowsTheActivityOfARoom(t *testing.T) {
	for _, c := range []struct {
		name    string
		every   time.Duration // from batch to batch
		batches int
		text    int // bytes
		want    int64
	}{
		{"five messages at once", 0, 5, 80, 0},
		{"the last batch that is not busy", 0, 7, 80, 0},
		{"eight batches in a second", 100 * time.Millisecond, 8, 80, 8 * 180 * 4},
		{"a message each 200 ms", 200 * time.Millisecond, 100, 80, 0},
		{"a message an hour", time.Hour, 1000, 80, 0},
		{"hundreds a second", 2 * time.Millisecond, 200, 300, maxPadding},
		{"batches that are larger than the padding", 0, 20, maxPaddedBatch, 0},
	} {
		a, most := activity{busyFrom: busyBatches}, int64(0)
		for i := range c.batches {
			a.add(100+c.text, noon.Add(time.Duration(i)*c.every).UnixMilli())
			most = max(most, a.padding(100+c.text))
		}
		if most != c.want {
			t.Errorf("%s: got at most %d bytes of padding, want %d", c.name, most, c.want)
		}
	}
}

// busyRoom is a log with lines and padding in its last segment, which is not the first.
func busyRoom(t testing.TB, dir string, o Options) (l *Log, lines []string) {
	t.Helper()
	o.Segment = 600
	l = mustOpen(t, dir, o)
	l.activity.busyFrom = 1
	for i := 0; len(l.knownBases()) < 3 || l.offsets.end()-l.activeBase < 300; i++ {
		lines = append(lines, string(mustAppend(t, l, entry(fmt.Sprint("message ", i))).Bytes))
	}
	if n := paddingOf(t, l); n < minPadding/2 {
		t.Fatalf("got %d bytes of padding, want some thousands", n)
	}
	return l, lines
}

// paddingOf returns the number of zeros behind END in the last segment.
func paddingOf(t testing.TB, l *Log) int64 {
	t.Helper()
	bases, _, err := listSegments(l.disk, l.dir)
	if err != nil {
		t.Fatal(err)
	}
	base := bases[len(bases)-1]
	data, err := disk.ReadFile(l.disk, l.segmentPath(base))
	if err != nil {
		t.Fatal(err)
	}
	n := base + int64(len(data)) - l.offsets.end()
	if n < 0 || len(bytes.TrimRight(data, "\x00")) != len(data)-int(n) {
		t.Fatalf("segment %d: got %d bytes of which %d are no trailing zeros, want lines up to END %d and zeros behind them", base, len(data), len(bytes.TrimRight(data, "\x00")), l.offsets.end())
	}
	return n
}

// wantNoPadding requires that no segment ends with a zero.
func wantNoPadding(t *testing.T, l *Log) {
	t.Helper()
	bases, _, err := listSegments(l.disk, l.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, base := range bases {
		data, err := disk.ReadFile(l.disk, l.segmentPath(base))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(data) - len(bytes.TrimRight(data, "\x00")); n > 0 {
			t.Errorf("segment %d: got %d zeros at its end, want none", base, n)
		}
	}
}

// TestReadersOfAPaddedRoomFindItsLines reads beside the writer, a copy, and after a kill.
func TestReadersOfAPaddedRoomFindItsLines(t *testing.T) {
	l, want := busyRoom(t, t.TempDir(), Options{})
	for name, reader := range map[string]*Log{
		"the writer":                    l,
		"a reader beside the writer":    mustOpen(t, l.dir, Options{ReadOnly: true}),
		"a reader of a copy":            mustOpen(t, copyRoom(t, l.dir, false), Options{ReadOnly: true}),
		"the next writer":               mustOpen(t, copyRoom(t, l.dir, true), Options{}),
		"the next writer after a crash": mustOpen(t, copyRoom(t, l.dir, false), Options{}),
	} {
		if got := all(t, reader); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %d lines, want %d", name, len(got), len(want))
		}
		if latest, err := reader.Latest(100, reader.Committed()); err != nil || !same(latest, want) {
			t.Errorf("%s: Latest: got %d lines and error %v, want %d", name, len(latest), err, len(want))
		}
		if reader.Committed() != l.Committed() {
			t.Errorf("%s: got the committed offset %d, want %d", name, reader.Committed(), l.Committed())
		}
		if r := reader.Recovery(); !reader.readOnly && reader != l && (r.Cut != 0 || r.Bad != 0 || r.Lost != 0 || r.Next != l.Committed()) {
			t.Errorf("%s: got %+v, want no cut, bad or lost bytes and the next line at %d (padding is no torn tail)", name, r, l.Committed())
		}
	}
	for _, dir := range []string{l.dir, copyRoom(t, l.dir, false)} {
		report, err := Inspect(dir)
		if err != nil || len(report.Faults) > 0 || report.Behind != 0 || report.Bytes != l.Committed() {
			t.Errorf("Inspect(%s): got %+v and error %v, want no faults, no bytes behind, %d bytes", dir, report, err, l.Committed())
		}
	}
}

// TestWhatReplacesOrClosesASegmentLeavesNoPadding includes a Stream that has the segment open
// before: it goes on in the next file.
func TestWhatReplacesOrClosesASegmentLeavesNoPadding(t *testing.T) {
	var failing atomic.Bool // the next sync fails
	d := syncDisk{disk.System, func(f disk.File) error {
		if failing.CompareAndSwap(true, false) {
			return unix.EIO
		}
		return f.Datasync()
	}}
	for name, do := range map[string]func(*Log) error{
		"a failed sync": func(l *Log) error {
			failing.Store(true)
			if _, err := l.Append([]Entry{entry("refused")}); !errors.Is(err, ErrFailing) {
				return fmt.Errorf("Append: got %w, want ErrFailing", err)
			}
			return nil
		},
		"close":  (*Log).Close,
		"open":   func(l *Log) error { return errors.Join(mustOpen(t, l.dir, Options{}).Close()) },
		"redact": func(l *Log) error { return l.Redact(l.activeBase) },
		"repair": func(l *Log) error { _, err := l.Repair(); return err },
		"retain": func(l *Log) error { _, err := l.Retain(0, 800, noon); return err },
		"roll": func(l *Log) error {
			l.activity.busyFrom = 1000
			for base := l.activeBase; l.activeBase == base; {
				mustAppend(t, l, entry("more"))
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := busyRoom(t, t.TempDir(), Options{Disk: d})
			reader := mustOpen(t, l.dir, Options{ReadOnly: true})
			r := reader.Stream(l.activeBase)
			defer r.Close()
			for err := error(nil); err == nil; { // to the end, with the segment open
				_, err = r.Next()
			}
			if err := do(l); err != nil {
				t.Fatal(err)
			}
			wantNoPadding(t, l)
			next := mustOpen(t, l.dir, Options{Segment: 600})
			next.activity.busyFrom = 1
			b := mustAppend(t, next, entry("afterwards"))
			var line Line
			for found := ""; found != string(b.Bytes); found = string(line) {
				var err error
				if line, err = r.Next(); err != nil {
					t.Fatalf("a Stream that had the segment open: got %v, want %q", err, b.Bytes)
				}
			}
			if r.Bad() > 0 {
				t.Errorf("a Stream that had the segment open: got %d bad bytes, want 0", r.Bad())
			}
		})
	}
}

// TestProcessesShareThePadding lets two processes append in turns. The second one never pads.
func TestProcessesShareThePadding(t *testing.T) {
	l, want := busyRoom(t, t.TempDir(), Options{})
	other := mustOpen(t, l.dir, Options{Segment: 600}) // cuts the padding
	for i := range 30 {
		for _, w := range []*Log{l, other} {
			want = append(want, string(mustAppend(t, w, entry(fmt.Sprint("turn ", i))).Bytes))
		}
	}
	if got := all(t, other); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %d lines, want the %d of both", len(got), len(want))
	}
	paddingOf(t, l)
	if r := other.Recovery(); r.Cut+r.Bad+r.Lost > 0 {
		t.Errorf("the second process: got %+v, want no recovery", r)
	}
}

// TestAWriterThatDiedInThePaddingIsFound leaves parts of a batch at the start of the padding, as a
// killed writer does: the whole lines stay, and the torn one is cut.
func TestAWriterThatDiedInThePaddingIsFound(t *testing.T) {
	for _, torn := range []int{1, 40, 130} {
		l, want := busyRoom(t, t.TempDir(), Options{})
		end := l.Committed()
		whole, _ := lines(t, end, entry("whole"))
		whole = bytes.ReplaceAll(whole, []byte("abcdefgh"), []byte(l.ID()))
		writeSum(whole)
		next := encodeAt(t, l, end+int64(len(whole)), ":ann!u@h PRIVMSG #r :"+string(bytes.Repeat([]byte("x"), 200)))
		if _, err := l.active.WriteAt(append(whole[:len(whole):len(whole)], next[:torn]...), end-l.activeBase); err != nil {
			t.Fatal(err)
		}
		b := mustAppend(t, l, entry("afterwards"))
		if want = append(want, string(whole), string(b.Bytes)); b.First < end+int64(len(whole)+torn) {
			t.Errorf("torn after %d bytes: got the new line at %d, want it behind the torn one", torn, b.First)
		}
		if got := all(t, l); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("torn after %d bytes: got %d lines, want %d", torn, len(got), len(want))
		}
		if r := l.Recovery(); r.Cut != int64(torn) || r.Kept != int64(len(whole)) || r.At != end+int64(len(whole)) {
			t.Errorf("torn after %d bytes: got %+v, want %d bytes kept, %d bytes cut at %d", torn, r, len(whole), torn, end+int64(len(whole)))
		}
	}
}

// TestABatchTornInThePaddingIsATornTail writes some sectors of a batch into the padding, as a loss
// of power does. The other sectors are zeros.
func TestABatchTornInThePaddingIsATornTail(t *testing.T) {
	for seed := range 64 {
		l, want := busyRoom(t, t.TempDir(), Options{})
		dir := copyRoom(t, l.dir, false)
		name, base := lastSegment(t, dir)
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		line := encodeAt(t, l, l.Committed(), ":ann!u@h PRIVMSG #r :"+string(bytes.Repeat([]byte("x"), 2500)))
		at := l.Committed() - base
		for s := range 6 { // sectors of the file that the line touches
			from, to := max(int64(s)*512+at-at%512, at), min(int64(s+1)*512+at-at%512, at+int64(len(line)))
			if seed&(1<<s) != 0 && from < to {
				if _, err := f.WriteAt(line[from-at:to-at], from); err != nil {
					t.Fatal(err)
				}
			}
		}
		f.Close()
		if seed == 63 {
			want = append(want, string(line))
		}
		checkAfter(t, fmt.Sprintf("sectors %06b", seed), disk.System, dir, want, l.Committed())
	}
}

// TestAFullDiskHasNoPadding refuses the bytes of the padding, and not those of batches.
func TestAFullDiskHasNoPadding(t *testing.T) {
	for _, partly := range []bool{false, true} {
		d := simdisk.New(1)
		l := mustOpen(t, "/room", Options{Disk: d.Process()})
		l.activity.busyFrom = 1
		d.SetFaults(simdisk.Faults{Fail: func(c simdisk.Call) (int, error) {
			if c.Op != simdisk.OpWrite || c.Bytes < minPadding {
				return 0, nil
			}
			if partly {
				return c.Bytes / 2, unix.ENOSPC
			}
			return 0, unix.ENOSPC
		}})
		var want []string
		for i := range 10 {
			want = append(want, string(mustAppend(t, l, entry(fmt.Sprint("message ", i))).Bytes))
			if n := paddingOf(t, l); n > 0 {
				t.Errorf("got %d bytes of padding on a full disk, want none", n)
			}
		}
		wantLines(t, d, l, want)
		wantAfterCrash(t, d, want)
	}
}

// stateDisk is a disk that calls after with the result of each State of a segment.
type stateDisk struct {
	disk.FS
	after *atomic.Pointer[func()]
}

type stateFile struct {
	disk.File
	after *atomic.Pointer[func()]
}

func (x stateDisk) OpenFile(name string, flag int, mode os.FileMode) (disk.File, error) {
	f, err := x.FS.OpenFile(name, flag, mode)
	if err != nil || filepath.Ext(name) != ".log" {
		return f, err
	}
	return stateFile{f, x.after}, nil
}

func (f stateFile) State() (disk.State, error) {
	st, err := f.File.State()
	if after := f.after.Load(); after != nil {
		(*after)()
	}
	return st, err
}

// TestASyncCommitsNoLineOfTheNextSegment rolls the log by another process while a writer is about
// to sync its segment. The size that it has read includes padding that is cut now.
func TestASyncCommitsNoLineOfTheNextSegment(t *testing.T) {
	var after atomic.Pointer[func()]
	l := mustOpen(t, t.TempDir(), Options{Segment: 150, Disk: stateDisk{disk.System, &after}})
	l.activity.busyFrom = 1
	release := make(chan struct{}) // closed by the test; the sync of the next segment waits for it
	slow := syncDisk{disk.System, func(f disk.File) error {
		if name, base := lastSegment(t, l.dir); base > 0 && f.Name() == name {
			<-release
		}
		return f.Datasync()
	}}
	other := mustOpen(t, l.dir, Options{Segment: 150, Disk: slow})
	done := make(chan error, 1) // the result of the other process's Append
	states := 0
	roll := func() {
		if states++; states != 2 { // the first one is of the check before the write
			return
		}
		end := l.offsets.end()
		go func() {
			_, err := other.Append([]Entry{entry("in the next segment")})
			done <- err
		}()
		for deadline := time.Now().Add(time.Minute); l.offsets.end() == end && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
	}
	after.Store(&roll)
	b := mustAppend(t, l, entry("fills the segment, and is longer than what follows: "+strings.Repeat("x", 100)))
	after.Store(nil)
	if got := l.Committed(); got != b.End {
		t.Errorf("got the committed offset %d, want %d: the next segment is not synced", got, b.End)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
