package crashdisk

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// The file that a disk is attached as has the disk's content, and its syncs are flushes.
func TestAnAttachedDiskIsAFile(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the test mounts a file by FUSE: run it as root")
	}
	path := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := New(4 << 20)
	m, err := d.Attach(path)
	if err != nil {
		t.Skip(err)
	}
	d.Record()
	checkFile(t, d, path)
	if err := m.Detach(); err != nil {
		t.Fatal(err)
	}
	if r := d.Recorded(); len(r.Flushes()) != 1 || r.covered[0] == 0 || r.covered[len(r.covered)-1] != 0 {
		t.Errorf("got %d flushes, and writes that are covered at %d; want one that covers all but the last", len(r.Flushes()), r.covered)
	}
}

// checkFile writes to the file, syncs it, writes again and reads all.
func checkFile(t *testing.T, d *Disk, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := bytes.Repeat([]byte("0123456789abcde\n"), 3<<20/16)
	_, err = f.WriteAt(want, 512)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		_, err = f.WriteAt([]byte("last"), 4<<20-4)
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(f)
	if err != nil || int64(len(got)) != d.size || !bytes.Equal(got[512:512+len(want)], want) || string(got[len(got)-4:]) != "last" {
		t.Errorf("got %d bytes and error %v, want %d with what was written", len(got), err, d.size)
	}
}
