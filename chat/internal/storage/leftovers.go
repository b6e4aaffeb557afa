package storage

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir/chat/data"
	"weir/internal/disk"
)

// RemoveLeftovers removes the files that a killed server was writing: temporary files beside states
// and metadata, unused rooms, and rooms that were being deleted. It also fsyncs the names of
// folders that such a server may just have created. The caller has locked the data directory.
func (d *Storage) RemoveLeftovers() error {
	errs := []error{d.files().SyncDir(d.dir), d.files().RemoveTemps(d.path(data.Metadata), ".state-*"), d.removeDeleted()}
	for _, kind := range []string{data.Rooms, data.Direct} {
		folders, err := d.disk.ReadDir(d.path(kind))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
		for _, folder := range folders {
			if folder.IsDir() { // .state-* are of older versions, state.new is of the C server
				path := kind + "/" + folder.Name()
				errs = append(errs, d.files().RemoveTemps(d.path(path), ".state-*", "state.new"), d.removeUnusedFolder(path))
			}
		}
	}
	return errors.Join(errs...)
}

// removeUnusedFolder removes the folder of a conversation in which nothing was ever stored and
// which a killed server had open. A folder whose file "committed" records acknowledged messages
// stays, so that opening it reports them as missing.
func (d *Storage) removeUnusedFolder(path string) error {
	dir := d.path(path)
	if ends, err := disk.ReadFile(d.disk, filepath.Join(dir, "committed")); err == nil && len(bytes.Trim(ends, "\x00")) > 0 {
		return nil
	}
	entries, err := d.disk.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		first := strings.Trim(e.Name(), "0") == ".log"
		if err != nil || !slices.Contains([]string{"id", "lock", "committed", "id.tmp"}, e.Name()) && !(first && info.Size() == 0) {
			return nil
		}
	}
	return d.disk.RemoveAll(dir)
}

// deletedPrefix begins the names of folders into which DeleteRoom moves a room.
const deletedPrefix = ".deleted-"

// removeDeleted removes the rooms whose deletion was interrupted.
func (d *Storage) removeDeleted() error {
	entries, err := d.disk.ReadDir(d.dir)
	isOther := func(e fs.DirEntry) bool { return !e.IsDir() || !strings.HasPrefix(e.Name(), deletedPrefix) }
	if entries = slices.DeleteFunc(entries, isOther); err != nil || len(entries) == 0 {
		return err
	}
	// before the rest, as in DeleteRoom
	if err := d.files().SyncDir(d.path(data.Rooms)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		err = errors.Join(err, d.disk.RemoveAll(d.path(e.Name())))
	}
	return err
}
