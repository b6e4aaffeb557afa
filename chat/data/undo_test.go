package data

import (
	"io/fs"
	"testing"

	"weir/internal/disk/simdisk"
	"weir/internal/durable"
)

// A rename that fails leaves the folder under its old name. Otherwise its room, which is still
// open, and one that is opened by the new name have the same log.
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
	if info, err := p.Stat("/chat/rooms/#new"); err == nil {
		t.Errorf("the new name: got %v, want none", fs.FormatFileInfo(info))
	}
}

// Nor does a loss of power then lose the folder, whichever of the changes it keeps.
func TestARenameThatCannotBeSyncedKeepsTheFolder(t *testing.T) {
	for seed := range uint64(200) {
		d := simdisk.New(seed)
		p := d.Process()
		if err := (durable.Files{Disk: p}).MkdirAll("/chat/rooms/#old", 0o700); err != nil {
			t.Fatal(err)
		}
		d.SetFaults(simdisk.Faults{SyncFolder: 1})
		in := Dir{Path: "/chat", Disk: p}
		if err := in.Rename("#old", "#new"); err == nil {
			t.Fatal("a rename whose sync fails: got nil, want an error")
		}
		in.Renamed("#new") // a JOIN looks for the present name
		after := d.Crash().Process()
		_, byOld := after.Stat("/chat/rooms/#old")
		_, byNew := after.Stat("/chat/rooms/#new")
		if byOld != nil && byNew != nil {
			t.Fatalf("seed %d: got no folder by the old name (%v) nor by the new one (%v), want it", seed, byOld, byNew)
		}
	}
}
