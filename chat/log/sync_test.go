package log

import (
	"os"

	"weir/internal/disk"
)

// syncDisk is a disk whose files are synced by a function.
type syncDisk struct {
	disk.FS
	sync func(f disk.File) error
}

func (x syncDisk) OpenFile(name string, flag int, mode os.FileMode) (disk.File, error) {
	f, err := x.FS.OpenFile(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return syncFile{f, x.sync}, nil
}

type syncFile struct {
	disk.File
	sync func(f disk.File) error
}

func (f syncFile) Sync() error     { return f.sync(f.File) }
func (f syncFile) Datasync() error { return f.sync(f.File) }

// noSync is the system's disk without its syncs.
var noSync = syncDisk{disk.System, func(disk.File) error { return nil }}
