package chat

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir/chat/data"
	"weir/internal/durable"
)

// removeLeftovers removes the files that a killed server was writing: temporary files beside states
// and metadata, unused rooms, and rooms that were being deleted. It also fsyncs the names of
// folders that such a server may just have created. The caller has locked the data directory.
func removeLeftovers(dir string) error {
	errs := []error{durable.SyncDir(dir), durable.RemoveTemps(filepath.Join(dir, "metadata"), ".state-*"), removeDeleted(dir)}
	for _, kind := range []string{data.Rooms, data.Direct} {
		folders, err := os.ReadDir(filepath.Join(dir, kind))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
		for _, folder := range folders {
			if folder.IsDir() { // .state-* are of older versions, state.new is of the C server
				path := filepath.Join(dir, kind, folder.Name())
				errs = append(errs, durable.RemoveTemps(path, ".state-*", "state.new"), removeUnusedFolder(path))
			}
		}
	}
	return errors.Join(errs...)
}

// removeUnusedFolder removes the folder of a conversation in which nothing was ever stored and
// which a killed server had open. A folder whose file "committed" records acknowledged messages
// stays, so that opening it reports them as missing.
func removeUnusedFolder(dir string) error {
	if ends, err := os.ReadFile(filepath.Join(dir, "committed")); err == nil && len(bytes.Trim(ends, "\x00")) > 0 {
		return nil
	}
	entries, err := os.ReadDir(dir)
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
	return os.RemoveAll(dir)
}

// deletedPrefix begins the names of folders into which DeleteRoom moves a room.
const deletedPrefix = ".deleted-"

func removeDeleted(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), deletedPrefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}
