package log

import (
	"testing"

	"weir/internal/disk/simdisk"

	"golang.org/x/sys/unix"
)

// A batch that was refused, and could not be cut then, is cut by Close. Otherwise the next Open
// finds valid lines behind the committed ones, and keeps them: the refused batch comes back.
func TestCloseCutsARefusedBatch(t *testing.T) {
	d := simdisk.New(1)
	l := mustOpen(t, "/room", Options{Disk: d.Process()})
	if _, err := l.Append([]Entry{entry("stored")}); err != nil {
		t.Fatal(err)
	}
	d.SetFaults(fail(map[simdisk.Op]error{simdisk.OpSync: unix.EIO, simdisk.OpCreate: unix.EIO}, nil))
	if _, err := l.Append([]Entry{entry("refused")}); err == nil {
		t.Fatal("Append with a failing sync: got nil, want an error")
	}
	d.SetFaults(simdisk.Faults{})
	want := all(t, l)
	if err := l.Close(); err != nil {
		t.Fatalf("Close: got %v, want nil", err)
	}
	wantLines(t, d, mustOpen(t, "/room", Options{Disk: d.Process()}), want)
}
