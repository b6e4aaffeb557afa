package data

import (
	"io/fs"
	"testing"

	"weir/internal/disk/simdisk"
	"weir/internal/durable"
)

// A rename that fails leaves the folder under its old name. Otherwise its room, which is still open,
// and one of the new name, which nobody uses yet, have the same log.
func TestARenameThatCannotBeSyncedIsUndone(t *testing.T) {
	d := simdisk.New(1)
	p := d.Process()
	if err := (durable.Files{Disk: p}).MkdirAll("/chat/rooms/#old", 0o700); err != nil {
		t.Fatal(err)
	}
	d.SetFaults(simdisk.Faults{SyncFolder: 1})
	if err := (Dir{Path: "/chat", Disk: p}).Rename("#old", "#new"); err == nil {
		t.Fatal("a rename whose sync fails: got nil, want an error")
	}
	if info, err := p.Lstat("/chat/rooms/#old"); err != nil || !info.IsDir() {
		t.Errorf("the old name: got %v (error %v), want the folder", info, err)
	}
	if info, err := p.Lstat("/chat/rooms/#new"); err == nil {
		t.Errorf("the new name: got %v, want none", fs.FormatFileInfo(info))
	}
}
