package chat

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"weir/chat/data"
	"weir/chat/irc"
	"weir/chat/log"
	"weir/internal/durable"
)

// A room may be given another name (draft/channel-rename). Its folder is renamed, so the log goes
// on with its id, its msgids and the marks of those who read it; the old name leads to the new one.
// Lines of the log name the room as it was called then: who reads them is told its name of today.

const (
	maxFormer = 16 // names that lead to a room
	// after which a room may be renamed again, but by operators of the server
	renameAgain = time.Minute
	settleFor   = 5 * time.Second
)

var errBusy = errors.New("the room is busy: try again")

func (s *session) cmdRename(m *irc.Message) {
	r := s.roomOfOps(m.Params[0])
	if r == nil {
		return
	}
	name, why := m.Params[1], irc.Cut(irc.Param(m, 2), irc.MaxTopic)
	refuse := func(code, text string) {
		s.fail("RENAME", code, r.name, irc.Word(irc.Cut(name, irc.MaxRoom)), text)
	}
	switch {
	case !irc.ValidRoom(name) || name == r.name:
		refuse("CANNOT_RENAME", "Want another name: "+errRoomName.Error())
	case irc.Fold(name) == irc.Fold(r.name):
		s.respell(r, name, why)
	case s.svc.rooms[irc.Fold(name)] != nil:
		refuse("CHANNEL_NAME_IN_USE", "The name is taken")
	case s.svc.o.Now().Before(r.renamed.Add(renameAgain)) && !s.user.oper:
		refuse("CANNOT_RENAME", "This room has been renamed recently")
	case len(r.former) >= maxFormer && !slices.Contains(r.former, irc.Fold(name)):
		refuse("CANNOT_RENAME", "This room has had as many names as it may")
	default:
		old := r.name
		s.slow(func() { s.renameRoom(old, name, why) })
	}
}

// respell changes the letters of a room's name from small to capital or back.
func (s *session) respell(r *room, name, why string) {
	s.change(r, "RENAME", func(to *session, d *draft) {
		old := d.name
		if irc.Fold(old) != irc.Fold(name) { // renamed since the command came
			to.fail("RENAME", "CANNOT_RENAME", old, name, "It has another name by now")
			return
		}
		d.name = name
		d.once(func() {
			n := s.svc.news(to.user, nil, "RENAME", old, name, why)
			n.need = irc.CapRename
			n.tellChange(r, s, to)
		})
	})
}

// renameRoom runs at the desk. What is said meanwhile waits, and is stored under the new name.
func (s *session) renameRoom(old, name, why string) {
	svc := s.svc
	svc.opening.Lock() // nobody opens, closes or renames
	defer svc.opening.Unlock()
	var r *room
	svc.locked(func() {
		if s.user != nil && !s.gone {
			r = s.roomOfOps(old)
		}
		if r != nil {
			r.moving = true
		}
	})
	if r == nil {
		return
	}
	err := r.settle()
	var d *draft
	if err == nil {
		svc.locked(func() {
			d = r.draft()
			d.name = name
			d.former = append(slices.DeleteFunc(d.former, func(f string) bool { return f == irc.Fold(name) }), irc.Fold(r.name))
		})
		err = svc.storeRename(old, d)
	}
	markers := r.markers()
	svc.locked(func() {
		switch r.moving = false; {
		case errors.Is(err, data.ErrTaken):
			s.fail("RENAME", "CHANNEL_NAME_IN_USE", r.name, name, "The name is taken")
		case err != nil:
			s.complain(&r.feed, err)
			s.fail("RENAME", "CANNOT_RENAME", r.name, name, publicError(err))
		default:
			svc.renamed(r, d)
			s.tellRenamed(r, old, why, markers)
		}
		if len(r.pending) > 0 || r.stateless {
			svc.wants(&r.feed)
		}
	})
}

// settle waits until nothing of the room is under way: no batch, and nobody who catches up. It must
// not be called with the lock.
func (r *room) settle() error {
	busy := func(seat *seat) bool { return !seat.live }
	for end := time.Now().Add(settleFor); ; time.Sleep(time.Millisecond) {
		r.svc.mu.Lock()
		done := !r.queued && !slices.ContainsFunc(r.seats, busy)
		r.svc.mu.Unlock()
		if done {
			return nil
		}
		if time.Now().After(end) {
			return errBusy
		}
	}
}

// storeRename has the disk take a new name: the folder's, and that in its state. If it does not,
// the room has its old one.
func (s *Service) storeRename(old string, d *draft) error {
	if err := data.Rename(s.dir, old, d.name); err != nil {
		return err
	}
	err := durable.ReplaceFile(s.statePath(d.name), d.state(s.o.Name, d.name), 0o600)
	if err != nil {
		err = errors.Join(err, data.Undo(s.dir, old, d.name))
	}
	return err
}

// renamed takes over the new name. The caller holds the lock.
func (s *Service) renamed(r *room, d *draft) {
	name := d.name
	delete(s.rooms, irc.Fold(r.name))
	s.rooms[irc.Fold(name)] = r
	r.settings, r.name, r.path, r.renamed, r.indexed = d.settings, name, s.statePath(name), s.o.Now(), 0
	for i := range r.pending {
		if p := &r.pending[i]; p.entry.Body != "" {
			p.entry.Body = retarget(p.entry.Body, name)
		}
	}
}

// tellRenamed tells the members. Who does not know RENAME sees its user part and join.
func (s *session) tellRenamed(r *room, old, why string, markers map[string]string) {
	change := s.svc.news(s.user, s, "RENAME", old, r.name, why)
	part := []string{old}
	if why != "" {
		part = append(part, why)
	}
	for _, seat := range r.seats {
		to := seat.session
		if to.has(irc.CapRename) {
			change.tell(to)
			continue
		}
		s.svc.news(to.user, s, "PART", part...).tell(to)
		join := []string{r.name}
		if to.has(irc.CapExtendedJoin) {
			join = append(join, accountWord(to.user), to.user.real)
		}
		s.svc.news(to.user, s, "JOIN", join...).tell(to)
		about := to
		if to != s {
			about = to.standIn()
		}
		about.topic(r)
		if to.has(irc.CapReadMarker) {
			about.say("MARKREAD", r.name, cmp.Or(markers[to.user.account], "*"))
		}
		if !to.has(irc.CapNoImplicitNames) {
			about.names(r)
		}
		if to != s {
			to.conn.Send(about.out)
		}
	}
	if s.user.rooms[r] == nil { // an operator from outside
		change.tell(s)
	}
}

// renamedError says what a room is called now that somebody looks for by an old name.
type renamedError struct{ now string }

func (e *renamedError) Error() string { return "it is called " + e.now + " now" }

// redirected says whether who joins by an old name comes in by the new one. Who knows RENAME joins
// himself, and a room that one may not know of has no other name.
func (s *session) redirected(old string, r *room) bool {
	old = irc.Cut(old, irc.MaxRoom)
	switch {
	case !r.sees(s.user) && !s.user.invited[r] && r.ranks[irc.Fold(s.user.account)] == "":
		s.num(irc.ErrNoSuchChannel, old, "No such channel")
	case s.has(irc.CapRename):
		s.fail("JOIN", "CHANNEL_RENAMED", old, r.name, "The channel has been renamed")
	default:
		s.num(irc.ErrLinkChannel, old, r.name, "The channel has been renamed")
		return true
	}
	return false
}

// retarget has a line without tags name another target.
func retarget(body, target string) string {
	source, rest, _ := strings.Cut(body, " ")
	command, rest, _ := strings.Cut(rest, " ")
	end := strings.IndexAny(rest, " \r")
	if end < 0 {
		end = len(rest)
	}
	return source + " " + command + " " + target + rest[end:]
}

// asNow returns what has a line of the log name the room as it is called now. The caller does not
// hold the lock.
func (f *feed) asNow() func(log.Line) log.Line {
	if f.room == nil {
		return func(l log.Line) log.Line { return l }
	}
	f.svc.mu.Lock()
	name, ever := f.name, len(f.room.former) > 0
	f.svc.mu.Unlock()
	return func(l log.Line) log.Line {
		if !ever {
			return l
		}
		plain := l.Plain()
		return log.Line(string(l[:len(l)-len(plain)]) + retarget(string(plain), name))
	}
}
