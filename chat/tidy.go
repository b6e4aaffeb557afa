package chat

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"weir/chat/data"
	"weir/internal/durable"
)

// tidy removes what a server that was killed was writing: temporary files beside states and metadata, and rooms
// that it was deleting. The caller has the data directory's lock.
func tidy(dir string) error {
	errs := []error{durable.RemoveTemps(filepath.Join(dir, "metadata"), ".state-*"), removeDeleted(dir)}
	for _, kind := range []string{data.Rooms, data.Direct} {
		folders, err := os.ReadDir(filepath.Join(dir, kind))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
		for _, folder := range folders {
			if folder.IsDir() { // .state-* are of older versions, state.new is of the C server
				errs = append(errs, durable.RemoveTemps(filepath.Join(dir, kind, folder.Name()), ".state-*", "state.new"))
			}
		}
	}
	return errors.Join(errs...)
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
