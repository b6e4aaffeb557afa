package core

import (
	"strings"

	"weir/chat/data"
)

// path returns the path of the log's folder below the data directory.
func (f *conversation) path() string {
	if f.room != nil {
		return data.RoomPath(f.name)
	}
	return directPath(f.accounts[0], f.accounts[1])
}

// conversationAt returns the conversation at a path, nil if it is not open.
func (s *Core) conversationAt(path string) *conversation {
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
