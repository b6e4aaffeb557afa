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

// tidy removes what a server that was killed was writing: temporary files beside states and
// metadata, and rooms that it was deleting. It syncs the names of the folders that such a server
// may have just made. The caller has the data directory's lock.
func tidy(dir string) error {
	errs := []error{durable.SyncDir(dir), durable.RemoveTemps(filepath.Join(dir, "metadata"), ".state-*"), removeDeleted(dir)}
	for _, kind := range []string{data.Rooms, data.Direct} {
		folders, err := os.ReadDir(filepath.Join(dir, kind))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
		for _, folder := range folders {
			if folder.IsDir() { // .state-* are of older versions, state.new is of the C server
				path := filepath.Join(dir, kind, folder.Name())
				errs = append(errs, durable.RemoveTemps(path, ".state-*", "state.new"), removeUnused(path))
			}
		}
	}
	return errors.Join(errs...)
}

// removeUnused removes the folder of a conversation in which nothing ever was said or set: a server
// that was killed had it open. A folder whose file committed tells of acknowledged messages stays:
// whoever opens it reports them as missing.
func removeUnused(dir string) error {
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

// deleting is how the names of folders begin into which DeleteRoom moves a room.
const deleting = ".deleted-"

func removeDeleted(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), deleting) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}
