package chat

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"weir/chat/data"
)

// RoomState describes a room without its messages.
type RoomState struct {
	Name      string            `json:"name"`
	CreatedAt time.Time         `json:"made"`
	Topic     string            `json:"topic"` // "": none; the same holds for the next fields
	TopicBy   string            `json:"topic_by"`
	TopicAt   time.Time         `json:"topic_at,omitzero"`
	Flags     string            `json:"flags"` // letters of irc.RoomFlags
	Key       string            `json:"key"`
	Limit     int               `json:"limit"`
	Ranks     map[string]string `json:"ranks"` // by folded account: "o", "v" or "ov"
	Bans      []string          `json:"bans"`  // masks
}

// ReadRoom reads the state of a room from a data directory, whether a server has it open or not.
// Changes of the last moments may be missing.
func ReadRoom(dir string, which data.Room) (RoomState, error) {
	path := filepath.Join(dir, filepath.FromSlash(which.Path))
	info, err := os.Stat(path)
	if err != nil {
		return RoomState{}, fmt.Errorf("%w: %s", ErrNoRoom, which.Name)
	}
	r := &room{settings: newSettings(info.ModTime())}
	r.name = which.Name
	contents, err := os.ReadFile(filepath.Join(path, "state"))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	r.readState(contents)
	s := RoomState{Name: r.name, CreatedAt: r.createdAt, Topic: r.topic, TopicBy: r.topicSetBy, TopicAt: r.topicSetAt, Flags: r.flags, Key: r.joinKey, Limit: r.memberLimit, Ranks: r.accountRanks, Bans: []string{}}
	for _, b := range r.bans {
		s.Bans = append(s.Bans, b.mask)
	}
	return s, err
}

// Members returns the users in a room, sorted by nick. It is empty if the room is not open.
func (s *Service) Members(name string) []Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.members(name)
}

// ChangeRoom changes an existing room and notifies its members. It returns when the change is on
// disk. Errors are ErrNoRoom, ErrInvalidChange, or the disk's.
func (s *Service) ChangeRoom(name string, c RoomChange) error {
	return s.runTask(func(t *task) error { return s.changeRoom(t, name, c) })
}

// DeleteRoom deletes a room with all its messages and removes its members. When it returns, the
// text is gone from the data directory. Backups and the search index keep it until they are made
// again or updated.
func (s *Service) DeleteRoom(name string) error {
	return s.runTask(func(t *task) error { return s.deleteRoom(t, name) })
}
