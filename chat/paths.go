package chat

import (
	"strings"

	"weir/chat/data"
)

// pathLocked returns the path of the log's folder below the data directory. The caller holds mu.
func (f *conversation) pathLocked() string {
	if f.room != nil {
		return data.RoomPath(f.name)
	}
	return directPath(f.accounts[0], f.accounts[1])
}

// conversationAtLocked returns the conversation at a path, nil if it is not open. The caller holds
// mu.
func (s *core) conversationAtLocked(path string) *conversation {
	kind, folder, _ := strings.Cut(path, "/")
	if kind == data.Direct {
		return s.directs[data.NameOf(folder)]
	}
	if r := s.rooms[data.NameOf(folder)]; r != nil {
		return &r.conversation
	}
	return nil
}

func directPath(a, b string) string { return data.Direct + "/" + data.Folder(pairKey(a, b)) }
