package chat

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/chat/data"
	"weir/chat/irc"
	"weir/chat/log"
)

// room is a room that is open. Guarded by Service.mu, but for its feed.
type room struct {
	feed
	settings
	path    string // of its state file
	members map[*user]*member
	renamed time.Time // when it got its name, if that was since it was opened
	// the account or network that had it opened: see session.opener; "" for none that is limited
	opener   string
	coming   int               // joins under way: it is not closed before they end
	deleted  bool              // by an administrator: nobody may enter
	metadata map[string]string // see metadata.go
}

// member is a user in a room.
type member struct {
	user  *user
	ranks string // of irc.RoomRanks, highest first
}

func (m *member) op() bool    { return strings.Contains(m.ranks, "o") }
func (m *member) voice() bool { return m.ranks != "" }

// prefix is the member's rank as names show it: the highest, or all.
func (m *member) prefix(all bool) string {
	p := ""
	for i := range len(irc.RoomRanks) {
		if strings.IndexByte(m.ranks, irc.RoomRanks[i]) >= 0 {
			p += irc.RankPrefixes[i : i+1]
		}
	}
	if len(p) > 1 && !all {
		p = p[:1]
	}
	return p
}

// sees says whether a user may know that the room is there.
func (r *room) sees(u *user) bool { return !r.has('s') || r.members[u] != nil || u.oper }

// banned says whether a user is kept out.
func (r *room) banned(u *user) bool {
	return slices.ContainsFunc(r.bans, func(b ban) bool { return irc.Match(b.mask, u.source) })
}

// remove takes a user out of the room. Its sessions have no seat any more.
func (r *room) remove(u *user) {
	delete(r.members, u)
	delete(u.rooms, r)
	for _, s := range u.sessions {
		r.stand(s)
	}
}

var (
	errRooms      = errors.New("there are as many rooms as there may be")
	errGuestRooms = errors.New("guests from your address have as many rooms open as they may: log in, or join one of them")
	errOwnRooms   = errors.New("your account has as many rooms open as it may: join one of them, or wait until some are closed")
)

// openRoom is the room of a name; it is made if it is not there. It waits for the disk, and must
// not be called with the lock.
func (s *Service) openRoom(name string) (*room, error) {
	r, err := s.openToCome(name, "")
	if err == nil {
		s.locked(func() { r.coming-- })
	}
	return r, err
}

// openToCome is openRoom for a join: see cameIn. The opener is limited to so many open rooms; "" is
// not.
func (s *Service) openToCome(name, opener string) (*room, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.mu.Lock()
	r, full := s.rooms[irc.Fold(name)], s.mayOpen(opener)
	if r != nil {
		r.used = s.o.Now() // so that it is not closed before it is
		r.coming++
	}
	s.mu.Unlock()
	switch {
	case r != nil:
		return r, nil
	case full != nil:
		return nil, full
	}
	if now, ok := data.Renamed(s.dir, name); ok {
		return nil, &renamedError{now}
	}
	r = &room{members: map[*user]*member{}, settings: newSettings(s.o.Now()), opener: opener, coming: 1}
	if err := s.openFeed(&r.feed, filepath.Join(data.Rooms, data.Folder(name)), name); err != nil {
		if e := removeUnused(filepath.Dir(s.statePath(name))); e != nil && !errors.Is(e, os.ErrNotExist) {
			s.o.Log.Error("the folder of a room that cannot be opened is left", "room", name, "error", e)
		}
		return nil, err
	}
	r.feed.room = r
	r.path = s.statePath(name)
	if err := r.readState(); err != nil {
		s.o.Log.Warn("a room's state cannot be read", "room", name, "error", err)
	}
	for _, old := range r.former {
		if err := data.Relink(s.dir, old, r.name); err != nil {
			s.o.Log.Warn("a room's old name does not lead to it", "room", name, "error", err)
		}
	}
	r.metadata = s.readMetadata(r.metadataPath())
	s.mu.Lock()
	s.rooms[irc.Fold(r.name)] = r
	s.mu.Unlock()
	return r, nil
}

// mayOpen says why no further room can be opened. The caller holds the lock.
func (s *Service) mayOpen(opener string) error {
	if len(s.rooms)+len(s.directs) >= s.opts().MaxRooms {
		return errRooms
	}
	if opener == "" {
		return nil
	}
	n := 0
	for _, r := range s.rooms {
		if r.opener == opener {
			n++
		}
	}
	switch {
	case n < s.opts().UserRooms: // as many as one account may be in
		return nil
	case opener[0] == '@':
		return errGuestRooms
	}
	return errOwnRooms
}

// closeBlank closes a room that nobody is in and in which nothing ever was, and removes its folder.
// Where somebody is coming in, it is left to closeIdle. It must not be called with the lock.
func (s *Service) closeBlank(r *room) {
	s.opening.Lock()
	defer s.opening.Unlock()
	blank := false
	s.locked(func() {
		blank = r.coming == 0 && len(r.members) == 0 && len(r.seats) == 0 && len(r.pending) == 0 && !r.queued && !r.stateless &&
			s.frozen == nil && s.rooms[irc.Fold(r.name)] == r && r.isBlank()
		if blank {
			delete(s.rooms, irc.Fold(r.name))
		}
	})
	if !blank {
		return
	}
	if err := r.log.Close(); err != nil {
		s.o.Log.Error("a log cannot be closed", "log", r.feed.key, "error", err)
	}
	r.removeBlank()
}

func (s *Service) statePath(name string) string {
	return filepath.Join(s.dir, data.Rooms, data.Folder(name), "state")
}

// openFeed opens a feed's log.
func (s *Service) openFeed(f *feed, dir, name string) error {
	l, err := log.Open(filepath.Join(s.dir, dir), log.Options{})
	if err != nil {
		s.o.Log.Error("a log cannot be opened", "log", dir, "error", err)
		return fmt.Errorf("its log cannot be opened: %w", err)
	}
	if r := l.Recovery(); r.Kept+r.Cut+r.Lost+r.Bad > 0 {
		s.o.Log.Warn("a log was brought in order", "log", dir, "kept", r.Kept, "cut", r.Cut, "lost", r.Lost, "bad", r.Bad)
	}
	f.svc, f.name, f.log, f.key = s, name, l, l.ID()
	f.self[0], f.used = f, s.o.Now()
	f.delivered = l.Committed()
	return nil
}

// isBlank says whether in a conversation nothing ever was said or set.
func (f *feed) isBlank() bool {
	if f.log.Committed() > 0 || f.log.First() > 0 {
		return false
	}
	for _, kept := range []string{"state", "metadata"} {
		if _, err := os.Lstat(filepath.Join(f.folder(), kept)); !errors.Is(err, os.ErrNotExist) {
			return false
		}
	}
	return true
}

func (f *feed) folder() string { return filepath.Join(f.svc.dir, filepath.FromSlash(f.path())) }

// removeBlank removes the folder of a conversation that was opened, and in which nothing ever was
// said or set. Its log is closed, and Service.opening held.
func (f *feed) removeBlank() {
	if !f.isBlank() {
		return
	}
	if err := os.RemoveAll(f.folder()); err != nil {
		f.svc.o.Log.Error("an empty room cannot be removed", "log", f.key, "error", err)
	}
}
