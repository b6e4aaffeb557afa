package core

import (
	"slices"
	"strings"

	"weir/chat/data"
)

// The search index is maintained outside the core, in the background. The core knows which
// conversations have messages that are not indexed.

// IndexProgress says how far conversations were delivered when their indexing began.
type IndexProgress map[*conversation]progress

type progress struct {
	path string
	to   int64 // log offset
}

// Unindexed returns the conversations that may not be fully indexed, and how far all have been
// delivered.
func (s *Core) Unindexed() (rooms []data.Room, at IndexProgress) {
	at = IndexProgress{}
	for _, f := range s.openConversations() {
		at[f] = progress{f.path(), f.deliveredOffset}
	}
	return s.conversationsToIndex(), at
}

// RecordIndexed records that conversations are indexed as far as they were delivered at a time,
// except for those that are late.
func (s *Core) RecordIndexed(at IndexProgress, late []data.Room) {
	s.setIndexBehind(late)
	for f, p := range at {
		if _, late := s.indexBehind[p.path]; !late && f.path() == p.path {
			f.indexedOffset = max(f.indexedOffset, p.to)
		}
	}
}

// RecordIndexReview records that all conversations have been checked by the index, and which are
// late. Complete is false if some were not checked.
func (s *Core) RecordIndexReview(late []data.Room, complete bool) {
	s.setIndexBehind(late)
	s.indexReviewed = s.indexReviewed || complete
}

// IsIndexBehind reports whether conversations are known not to be fully indexed.
func (s *Core) IsIndexBehind() bool { return len(s.indexBehind) > 0 }

// setIndexBehind sets the conversations that are not fully indexed.
func (s *Core) setIndexBehind(rooms []data.Room) {
	s.indexBehind = make(map[string]data.Room, len(rooms))
	for _, r := range rooms {
		s.indexBehind[r.Path] = r
	}
}

// conversationsToIndex returns the conversations that may not be fully indexed.
func (s *Core) conversationsToIndex() (rooms []data.Room) {
	for _, f := range s.openConversations() {
		if path := f.path(); f.indexedOffset < f.deliveredOffset && s.indexBehind[path].Path == "" {
			rooms = append(rooms, data.Room{Name: f.name, Path: path, Direct: f.room == nil})
		}
	}
	for _, r := range s.indexBehind {
		rooms = append(rooms, r)
	}
	return rooms
}

// conversationsToScan returns those of the given conversations whose log end a search must
// scan, by path.
func (s *Core) conversationsToScan(paths map[string]bool) (rooms []data.Room) {
	if s.indexReviewed {
		return slices.DeleteFunc(s.conversationsToIndex(), func(r data.Room) bool { return !paths[r.Path] })
	}
	for path := range paths { // the index has not yet been checked against the logs since the start
		kind, folder, _ := strings.Cut(path, "/")
		rooms = append(rooms, data.Room{Name: data.NameOf(folder), Path: path, Direct: kind == data.Direct})
	}
	return rooms
}
