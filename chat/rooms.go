package chat

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"weir/chat/core"
	"weir/chat/data"
)

// ReadRoom reads the state of a room from a data directory, whether a server has it open or not.
// Changes of the last moments may be missing.
func ReadRoom(dir string, which data.Room) (RoomState, error) {
	path := filepath.Join(dir, filepath.FromSlash(which.Path))
	info, err := os.Stat(path)
	if err != nil {
		return RoomState{}, fmt.Errorf("%w: %s", core.ErrNoRoom, which.Name)
	}
	contents, err := os.ReadFile(filepath.Join(path, "state"))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return core.ParseRoomState(which.Name, contents, info.ModTime()), err
}

// Members returns the users in a room, sorted by nick. It is empty if the room is not open.
func (s *Service) Members(name string) []Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.core.Members(name)
}

// ChangeRoom changes an existing room and notifies its members. It returns when the change is on
// disk. Errors are ErrNoRoom, ErrInvalidChange, or the disk's.
func (s *Service) ChangeRoom(name string, c RoomChange) error {
	return s.runTask(func(t *core.Task) error { return s.core.ChangeRoom(t, name, c) })
}

// DeleteRoom deletes a room with all its messages and removes its members. When it returns, the
// text is gone from the data directory. Backups and the search index keep it until they are made
// again or updated.
func (s *Service) DeleteRoom(name string) error {
	return s.runTask(func(t *core.Task) error { return s.core.DeleteRoom(t, name) })
}
