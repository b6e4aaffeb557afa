package chat

import (
	"slices"
	"strings"

	"weir/chat/data"
)

// The search index is maintained outside the core, in the background. The core knows which
// conversations have messages that are not indexed.

// indexProgress says how far conversations were delivered when their indexing began.
type indexProgress map[*conversation]progress

type progress struct {
	path string
	to   int64 // log offset
}

// unindexed returns the conversations that may not be fully indexed, and how far all have been
// delivered.
func (s *core) unindexed() (rooms []data.Room, at indexProgress) {
	at = indexProgress{}
	for _, f := range s.openConversationsLocked() {
		at[f] = progress{f.pathLocked(), f.deliveredOffset}
	}
	return s.conversationsToIndex(), at
}

// recordIndexed records that conversations are indexed as far as they were delivered at a time,
// except for those that are late.
func (s *core) recordIndexed(at indexProgress, late []data.Room) {
	s.setIndexBehindLocked(late)
	for f, p := range at {
		if _, late := s.indexBehind[p.path]; !late && f.pathLocked() == p.path {
			f.indexedOffset = max(f.indexedOffset, p.to)
		}
	}
}

// recordIndexReview records that all conversations have been checked by the index, and which are
// late. Complete is false if some were not checked.
func (s *core) recordIndexReview(late []data.Room, complete bool) {
	s.setIndexBehindLocked(late)
	s.indexReviewed = s.indexReviewed || complete
}

// isIndexBehind reports whether conversations are known not to be fully indexed.
func (s *core) isIndexBehind() bool { return len(s.indexBehind) > 0 }

// setIndexBehindLocked sets the conversations that are not fully indexed. The caller holds mu.
func (s *core) setIndexBehindLocked(rooms []data.Room) {
	s.indexBehind = make(map[string]data.Room, len(rooms))
	for _, r := range rooms {
		s.indexBehind[r.Path] = r
	}
}

// conversationsToIndex returns the conversations that may not be fully indexed. The caller holds mu.
func (s *core) conversationsToIndex() (rooms []data.Room) {
	for _, f := range s.openConversationsLocked() {
		if path := f.pathLocked(); f.indexedOffset < f.deliveredOffset && s.indexBehind[path].Path == "" {
			rooms = append(rooms, data.Room{Name: f.name, Path: path, Direct: f.room == nil})
		}
	}
	for _, r := range s.indexBehind {
		rooms = append(rooms, r)
	}
	return rooms
}

// conversationsToScanLocked returns those of the given conversations whose log end a search must
// scan, by path. The caller holds mu.
func (s *core) conversationsToScanLocked(paths map[string]bool) (rooms []data.Room) {
	if s.indexReviewed {
		return slices.DeleteFunc(s.conversationsToIndex(), func(r data.Room) bool { return !paths[r.Path] })
	}
	for path := range paths { // the index has not yet been checked against the logs since the start
		kind, folder, _ := strings.Cut(path, "/")
		rooms = append(rooms, data.Room{Name: data.NameOf(folder), Path: path, Direct: kind == data.Direct})
	}
	return rooms
}
