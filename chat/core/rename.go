package core

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"weir/chat/data"
	"weir/chat/irc"
	"weir/chat/log"
)

// A room can be renamed (draft/channel-rename). Its folder is renamed, so the log keeps its id,
// msgids and read markers. The old name redirects to the new one. Log lines contain the room's name
// of their time; readers are sent the current name.

const (
	maxFormer = 16 // former names that redirect to a room
	// minimum time between two renames of a room, except for server operators
	renameInterval = time.Minute
	renameWait     = 5 * time.Second
)

var errRoomBusy = errors.New("the room is busy: try again")

func (s *Session) cmdRename(m *irc.Message) {
	r := s.operatedRoom(m.Params[0])
	if r == nil {
		return
	}
	name, reason := m.Params[1], irc.Cut(irc.Param(m, 2), irc.MaxTopic)
	refuse := func(code, text string) {
		s.fail("RENAME", code, r.name, irc.Word(irc.Cut(name, irc.MaxRoom)), text)
	}
	switch {
	case !irc.ValidRoom(name) || name == r.name:
		refuse("CANNOT_RENAME", "The new name is invalid or the same: "+errRoomName.Error())
	case irc.Fold(name) == irc.Fold(r.name):
		s.respellRoom(r, name, reason)
	case s.svc.rooms[irc.Fold(name)] != nil:
		refuse("CHANNEL_NAME_IN_USE", "The name is taken")
	case s.svc.now.Before(r.renamedAt.Add(renameInterval)) && !s.user.oper:
		refuse("CANNOT_RENAME", "This room has been renamed recently")
	case len(r.formerNames) >= maxFormer && !slices.Contains(r.formerNames, irc.Fold(name)):
		refuse("CANNOT_RENAME", "This room has reached its limit of former names")
	default:
		old := r.name
		s.startTask(func() { s.renameRoom(old, name, reason) })
	}
}

// respellRoom changes the case of letters in a room's name.
func (s *Session) respellRoom(r *room, name, reason string) {
	s.putChange(r, "RENAME", func(to *Session, d *draft) {
		old := d.name
		if irc.Fold(old) != irc.Fold(name) { // renamed since the command arrived
			to.fail("RENAME", "CANNOT_RENAME", old, name, "The room has been renamed meanwhile")
			return
		}
		d.name = name
		d.whenApplied(func() {
			n := s.svc.userNotification(to.user, nil, "RENAME", old, name, reason)
			n.requiredCaps = irc.CapRename
			n.sendChangeToRoom(r, s, to)
		})
	})
}

// renameRoom renames a room. Posts that arrive meanwhile wait, and are stored under the new name.
// It is a task.
func (s *Session) renameRoom(old, name, reason string) {
	svc := s.svc
	svc.opening.lock(s.task) // no room is opened, closed or renamed meanwhile
	defer svc.opening.unlock()
	if !s.isActive() {
		return
	}
	r := s.operatedRoom(old)
	if r == nil {
		return
	}
	r.renaming = true
	defer func() {
		if r.renaming = false; len(r.pending) > 0 || r.stateDirty {
			svc.schedule(&r.conversation)
		}
	}()
	err := r.waitIdle(s.task)
	var d *draft
	if err == nil {
		d = r.draft()
		d.name = name
		d.formerNames = append(slices.DeleteFunc(d.formerNames, func(f string) bool { return f == irc.Fold(name) }), irc.Fold(r.name))
		before, state := r.encodeState(svc.fixed.Name, r.name), d.encodeState(svc.fixed.Name, d.name)
		path := r.statePath()
		s.task.await(func() {
			// If the server dies between renaming the folder and replacing the state, readState
			// finds the former name in the old state. A guest's room may have no state yet.
			if err = svc.env.Storage.ReplaceFile(path, before); err == nil {
				err = svc.env.Storage.Rename(old, d.name, state)
			}
		})
	}
	markers := r.readMarkersByAccount(s.task)
	switch {
	case errors.Is(err, data.ErrTaken):
		s.fail("RENAME", "CHANNEL_NAME_IN_USE", r.name, name, "The name is taken")
	case err != nil:
		r.logReadError(err)
		s.fail("RENAME", "CANNOT_RENAME", r.name, name, publicError(err))
	default:
		svc.applyRename(r, d)
		s.notifyRenamed(r, old, reason, markers)
	}
}

// waitIdle waits until the room has neither a batch under way nor subscribers that are catching up.
func (r *room) waitIdle(t *Task) error {
	isBusy := func() bool {
		return r.committing || slices.ContainsFunc(r.subscriptions, func(sub *subscription) bool { return sub.state == catchingUp })
	}
	expired := false
	t.svc.after(renameWait, func() {
		expired = true
		r.idleWaiters.wake()
	})
	for isBusy() && !expired {
		r.idleWaiters.wait(t)
	}
	if isBusy() {
		return errRoomBusy
	}
	return nil
}

// applyRename puts the new name into effect.
func (s *Core) applyRename(r *room, d *draft) {
	name := d.name
	delete(s.rooms, irc.Fold(r.name))
	s.rooms[irc.Fold(name)] = r
	r.settings, r.name, r.renamedAt, r.indexedOffset = d.settings, name, s.now, 0
	for i := range r.pending {
		if p := &r.pending[i]; p.entry.Body != "" {
			p.entry.Body = replaceTarget(p.entry.Body, name)
		}
	}
}

// notifyRenamed notifies the members. Clients without RENAME see their user part and join.
func (s *Session) notifyRenamed(r *room, old, reason string, markers map[string]string) {
	change := s.svc.userNotification(s.user, s, "RENAME", old, r.name, reason)
	part := []string{old}
	if reason != "" {
		part = append(part, reason)
	}
	for _, sub := range r.subscriptions {
		to := sub.session
		if to.has(irc.CapRename) {
			change.sendTo(to)
			continue
		}
		s.svc.userNotification(to.user, s, "PART", part...).sendTo(to)
		join := []string{r.name}
		if to.has(irc.CapExtendedJoin) {
			join = append(join, accountWord(to.user), to.user.realname)
		}
		s.svc.userNotification(to.user, s, "JOIN", join...).sendTo(to)
		about := to
		if to != s {
			about = to.replyCollector()
		}
		about.sendTopic(r)
		if to.has(irc.CapReadMarker) {
			about.reply("MARKREAD", r.name, cmp.Or(markers[to.user.account], "*"))
		}
		if !to.has(irc.CapNoImplicitNames) {
			about.sendNames(r)
		}
		if to != s {
			to.conn.Send(about.replies)
		}
	}
	if s.user.rooms[r] == nil { // a server operator who is not in the room
		change.sendTo(s)
	}
}

// renamedError reports that a room has a new name.
type renamedError struct{ newName string }

func (e *renamedError) Error() string { return "it is called " + e.newName + " now" }

// redirectJoin reports whether a join by a former name continues with the new one. Otherwise it
// replies: clients with RENAME join the new name themselves, and a hidden room is not revealed.
func (s *Session) redirectJoin(old string, r *room) bool {
	old = irc.Cut(old, irc.MaxRoom)
	switch {
	case !r.isVisibleTo(s.user) && !s.user.invited[r] && r.accountRanks[irc.Fold(s.user.account)] == "":
		s.numeric(irc.ErrNoSuchChannel, old, "No such channel")
	case s.has(irc.CapRename):
		s.fail("JOIN", "CHANNEL_RENAMED", old, r.name, "The channel has been renamed")
	default:
		s.numeric(irc.ErrLinkChannel, old, r.name, "The channel has been renamed")
		return true
	}
	return false
}

// replaceTarget replaces the target of a line without tags.
func replaceTarget(body, target string) string {
	source, rest, _ := strings.Cut(body, " ")
	command, rest, _ := strings.Cut(rest, " ")
	end := strings.IndexAny(rest, " \r")
	if end < 0 {
		end = len(rest)
	}
	return source + " " + command + " " + target + rest[end:]
}

// renamer returns a function that replaces the room's name in log lines with the current one. A job
// may call the function.
func (f *conversation) renamer() func(log.Line) log.Line {
	if f.room == nil {
		return func(l log.Line) log.Line { return l }
	}
	name, wasRenamed := f.name, len(f.room.formerNames) > 0
	return func(l log.Line) log.Line {
		if !wasRenamed {
			return l
		}
		plain := l.Plain()
		return log.Line(string(l[:len(l)-len(plain)]) + replaceTarget(string(plain), name))
	}
}
