package netsim

import (
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"
)

// diskState is what a disk has.
type diskState struct {
	mu    sync.Mutex
	files map[string]*file
}

// file is a file of a disk.
type file struct {
	data   []byte
	synced []byte
}

func newDisk() *diskState { return &diskState{files: map[string]*file{}} }

// crash forgets what was not synced.
func (d *diskState) crash() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.files {
		f.data = slices.Clone(f.synced)
	}
}

// Disk is the disk of a host, in memory, with files by name. It survives crashes, without what was
// not synced: a file then has what it had when its last Sync that has returned was called.
// Creating, renaming and removing a file is durable at once. Nothing is torn, reordered or damaged,
// and the disk is never full.
//
// Calls take no time, beside Sync: see HostConfig.SyncDelay. They fail with ErrCrashed while the
// host is down, and for ever if the Disk is that of a run which has ended.
type Disk struct{ h *Host }

// Disk returns the host's disk.
func (h *Host) Disk() Disk { return Disk{h} }

// with calls a function with the disk's lock held, unless the run is over.
func (d Disk) with(op, name string, call func(*diskState) error) error {
	disk := d.h.m.disk
	disk.mu.Lock()
	defer disk.mu.Unlock()
	_, err := d.h.running()
	if err == nil {
		err = call(disk)
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// ReadFile returns the contents of a file, as os.ReadFile does.
func (d Disk) ReadFile(name string) (data []byte, err error) {
	err = d.with("open", name, func(disk *diskState) error {
		f := disk.files[name]
		if f == nil {
			return fs.ErrNotExist
		}
		data = slices.Clone(f.data)
		return nil
	})
	return data, err
}

// WriteFile replaces the contents of a file, which it creates.
func (d Disk) WriteFile(name string, data []byte) error {
	return d.with("write", name, func(disk *diskState) error {
		disk.file(name).data = slices.Clone(data)
		return nil
	})
}

// Append writes to the end of a file, which it creates.
func (d Disk) Append(name string, data []byte) error {
	return d.with("write", name, func(disk *diskState) error {
		f := disk.file(name)
		f.data = append(f.data, data...)
		return nil
	})
}

func (d *diskState) file(name string) *file {
	if d.files[name] == nil {
		d.files[name] = &file{}
	}
	return d.files[name]
}

// Sync makes the contents of a file durable.
func (d Disk) Sync(name string) error {
	b, err := d.h.running()
	if err != nil {
		return &fs.PathError{Op: "sync", Path: name, Err: err}
	}
	during := Disk{&Host{m: d.h.m, boot: b}} // the disk of this run
	var f *file
	var written []byte
	err = during.with("sync", name, func(disk *diskState) error {
		if f = disk.files[name]; f == nil {
			return fs.ErrNotExist
		}
		written = slices.Clone(f.data)
		return nil
	})
	if err != nil {
		return err
	}
	time.Sleep(d.h.m.cfg.syncDelay())
	return during.with("sync", name, func(*diskState) error {
		f.synced = written
		return nil
	})
}

// defaultSyncDelay is the default of HostConfig.SyncDelay.
const defaultSyncDelay = time.Millisecond

func (c HostConfig) syncDelay() time.Duration {
	if c.SyncDelay == 0 {
		return defaultSyncDelay
	}
	return max(0, c.SyncDelay)
}

// Rename renames a file, in place of another one.
func (d Disk) Rename(from, to string) error {
	return d.with("rename", from, func(disk *diskState) error {
		f := disk.files[from]
		if f == nil {
			return fs.ErrNotExist
		}
		delete(disk.files, from)
		disk.files[to] = f
		return nil
	})
}

// Remove removes a file.
func (d Disk) Remove(name string) error {
	return d.with("remove", name, func(disk *diskState) error {
		if disk.files[name] == nil {
			return fs.ErrNotExist
		}
		delete(disk.files, name)
		return nil
	})
}

// Names returns the names of all files that start with a prefix, sorted.
func (d Disk) Names(prefix string) (names []string, err error) {
	err = d.with("open", prefix, func(disk *diskState) error {
		for name := range disk.files {
			if strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return nil
	})
	return names, err
}
