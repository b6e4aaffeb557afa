//go:build linux

package log

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"weir/internal/disk"
)

// commitDisk is the system's disk with a call before the locks, the states and the syncs of files.
// It remembers the mapping of the file committed.
type commitDisk struct {
	disk.FS
	before func(call, file string) error
	mapped *[]byte
}

func (d commitDisk) OpenFile(name string, flag int, mode os.FileMode) (disk.File, error) {
	f, err := d.FS.OpenFile(name, flag, mode)
	return commitFile{f, d}, err
}

type commitFile struct {
	disk.File
	disk commitDisk
}

func (f commitFile) call(name string) error { return f.disk.before(name, filepath.Base(f.Name())) }

func (f commitFile) Lock() error {
	if err := f.call("lock"); err != nil {
		return err
	}
	return f.File.Lock()
}

func (f commitFile) State() (disk.State, error) {
	if err := f.call("state"); err != nil {
		return disk.State{}, err
	}
	return f.File.State()
}

func (f commitFile) Datasync() error {
	if err := f.call("sync"); err != nil {
		return err
	}
	return f.File.Datasync()
}

func (f commitFile) Map(size int, writable bool) ([]byte, func(), error) {
	mem, unmap, err := f.File.Map(size, writable)
	*f.disk.mapped = mem
	return mem, unmap, err
}

// wantRefusedForGood appends batches whose calls fail after their write, and wants none of them in
// the log when later ones are committed. failure returns the error of such a call; mapped is the
// mapping of COMMITTED and END.
func wantRefusedForGood(t *testing.T, failure func(call, file string, mapped []byte) error) {
	t.Helper()
	var mapped []byte
	armed, written := false, false
	d := commitDisk{disk.System, nil, &mapped}
	d.before = func(call, file string) error {
		written = written || armed && call == "lock" && file == "committed"
		if !armed || !written {
			return nil
		}
		return failure(call, file, mapped)
	}
	l := mustOpen(t, t.TempDir(), Options{Disk: d})
	var want []string
	for i := range 3 {
		want = append(want, string(mustAppend(t, l, entry(fmt.Sprint("stored ", i))).Bytes))
		armed, written = true, false
		if _, err := l.Append([]Entry{entry("refused")}); err == nil {
			t.Fatal("Append: got no error, want one")
		}
		armed = false
		if err := unix.Mprotect(mapped, unix.PROT_READ|unix.PROT_WRITE); err != nil {
			t.Fatal(err)
		}
	}
	want = append(want, string(mustAppend(t, l, entry("stored again")).Bytes))
	if got := all(t, l); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("got %d lines, want the %d that were acknowledged:\n%q", len(got), len(want), got)
	}
}

func TestABatchThatIsRefusedAfterItsWriteStaysRefused(t *testing.T) {
	for _, c := range []struct {
		name, call string
		file       string // "" for all
	}{
		{"the lock of committed", "lock", "committed"},
		{"the state of the segment", "state", ""},
		{"the sync", "sync", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantRefusedForGood(t, func(call, file string, _ []byte) error {
				if call == c.call && (c.file == "" || c.file == file) {
					return unix.EIO
				}
				return nil
			})
		})
	}
}
