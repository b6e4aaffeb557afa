package chat

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"weir/chat/data"
	"weir/chat/irc"
	"weir/chat/log"
	"weir/internal/durable"
)

// Errors of what an administrator asks for.
var (
	ErrNoRoom = errors.New("chat: there is no such room")
	ErrChange = errors.New("chat: it cannot be changed so")
)

// RoomState is what a room is, besides its messages.
type RoomState struct {
	Name    string            `json:"name"`
	Made    time.Time         `json:"made"`
	Topic   string            `json:"topic"` // "" for none, and so with what follows
	TopicBy string            `json:"topic_by"`
	TopicAt time.Time         `json:"topic_at,omitzero"`
	Flags   string            `json:"flags"` // of irc.RoomFlags
	Key     string            `json:"key"`
	Limit   int               `json:"limit"`
	Ranks   map[string]string `json:"ranks"` // by folded account: "o", "v" or "ov"
	Bans    []string          `json:"bans"`  // masks
}

// ReadRoom reads what a room of a data directory is, whether a server runs on that or not. What
// changed within the last moments may be missing.
func ReadRoom(dir string, which data.Room) (RoomState, error) {
	path := filepath.Join(dir, filepath.FromSlash(which.Path))
	info, err := os.Stat(path)
	if err != nil {
		return RoomState{}, fmt.Errorf("%w: %s", ErrNoRoom, which.Name)
	}
	r := &room{settings: newSettings(info.ModTime()), path: filepath.Join(path, "state")}
	r.name = which.Name
	err = r.readState()
	s := RoomState{Name: r.name, Made: r.made, Topic: r.topic, TopicBy: r.topicBy, TopicAt: r.topicAt, Flags: r.flags, Key: r.joinKey, Limit: r.limit, Ranks: r.ranks, Bans: []string{}}
	for _, b := range r.bans {
		s.Bans = append(s.Bans, b.mask)
	}
	return s, err
}

// Member is somebody who is in a room now.
type Member struct {
	Nick    string `json:"nick"`
	Account string `json:"account"` // "": a guest
	Ranks   string `json:"ranks"`   // "o", "v", "ov" or ""
}

// Members are those who are in a room now, by nick.
func (s *Service) Members(name string) []Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []Member{}
	if r := s.rooms[irc.Fold(name)]; r != nil {
		for u, m := range r.members {
			all = append(all, Member{u.nick, u.account, m.ranks})
		}
	}
	slices.SortFunc(all, func(a, b Member) int { return strings.Compare(a.Nick, b.Nick) })
	return all
}

// RoomChange is what an administrator changes of a room. What is nil stays.
type RoomChange struct {
	Topic *string `json:"topic,omitempty"` // "": none
	Key   *string `json:"key,omitempty"`   // "": none
	// by account, what it gets and loses: "+o", "-v", "+o-v"
	Ranks map[string]string `json:"ranks,omitempty"`
}

// ChangeRoom changes a room that is there, whoever is in it, and tells them. It returns when the
// change is on the disk. Errors are ErrNoRoom, ErrChange, or the disk's.
func (s *Service) ChangeRoom(name string, c RoomChange) error {
	if err := s.checkChange(name, c); err != nil {
		return err
	}
	r, err := s.openRoom(name)
	if err != nil {
		return err
	}
	return s.putAndWait(func(author *session) error {
		if err := r.mayChange(); err != nil {
			return err
		}
		r.put(post{from: author, last: true, change: func(d *draft) {
			if c.Key != nil {
				s.giveKey(r, d, *c.Key)
			}
			for account, ranks := range c.Ranks {
				s.giveRanks(r, d, account, ranks)
			}
		}})
		if c.Topic != nil {
			s.giveTopic(r, author, irc.Cut(*c.Topic, irc.MaxTopic))
		}
		return nil
	})
}

// mayChange says why an administrator cannot change the room now. The caller holds the lock.
func (r *room) mayChange() error {
	switch {
	case r.deleted:
		return fmt.Errorf("%w: %s", ErrNoRoom, r.name)
	case r.svc.frozen != nil:
		return errUpgrading
	}
	return nil
}

// exists says whether a room is there.
func (s *Service) exists(name string) error {
	room, err := data.Named(name)
	if err != nil || room.Direct {
		return fmt.Errorf("%w: %q is no name of one", ErrNoRoom, name)
	}
	if _, err := os.Stat(filepath.Join(s.dir, filepath.FromSlash(room.Path))); err != nil {
		return fmt.Errorf("%w: %s", ErrNoRoom, name)
	}
	return nil
}

func (s *Service) checkChange(name string, c RoomChange) error {
	if err := s.exists(name); err != nil {
		return err
	}
	if c.Key != nil && (len(*c.Key) > irc.MaxKey || strings.ContainsAny(*c.Key, ", :\r\n\x00")) {
		return fmt.Errorf("%w: a key is one word of at most %d bytes without commas and colons", ErrChange, irc.MaxKey)
	}
	if c.Topic != nil && (len(*c.Topic) > irc.MaxTopic || strings.ContainsAny(*c.Topic, "\r\n\x00")) {
		return fmt.Errorf("%w: a topic is one line of at most %d bytes", ErrChange, irc.MaxTopic)
	}
	for account, ranks := range c.Ranks {
		if s.accounts.Lookup(account) == nil {
			return fmt.Errorf("%w: there is no account %q", ErrChange, account)
		}
		if strings.Trim(ranks, "+-"+irc.RoomRanks) != "" {
			return fmt.Errorf("%w: ranks are changed by such as +o and -v", ErrChange)
		}
	}
	return nil
}

// serverNews is a line of the server's own.
func (s *Service) serverNews(command string, params ...string) *news {
	return &news{tags: irc.AppendTime(nil, s.o.Now()), body: irc.AppendLine(nil, s.o.Name, command, params...)}
}

func (s *Service) giveKey(r *room, d *draft, key string) {
	if key == d.joinKey {
		return
	}
	d.joinKey = key
	words := []string{"+k", key}
	if key == "" {
		words = []string{"-k", "*"}
	}
	d.once(func() { s.serverNews("MODE", r.name, words[0], words[1]).toRoom(r) })
}

// giveRanks changes the ranks of an account, and of whoever is there as it.
func (s *Service) giveRanks(r *room, d *draft, account, changes string) {
	key, on := irc.Fold(account), true
	for i := range len(changes) {
		rank := changes[i]
		if rank == '+' || rank == '-' {
			on = rank == '+'
			continue
		}
		d.rank(key, setLetter(d.ranks[key], rank, on, irc.RoomRanks))
		d.once(func() { s.rankMembers(r, key, rank, on) })
	}
}

// rankMembers gives or takes a rank of those in a room who are an account, and tells the room.
func (s *Service) rankMembers(r *room, account string, rank byte, on bool) {
	for u, m := range r.members {
		if irc.Fold(u.account) == account && strings.IndexByte(m.ranks, rank) >= 0 != on {
			m.ranks = setLetter(m.ranks, rank, on, irc.RoomRanks)
			s.serverNews("MODE", r.name, map[bool]string{true: "+", false: "-"}[on]+string(rank), u.nick).toRoom(r)
		}
	}
}

// giveTopic puts a topic on its way, as setTopic does for a user.
func (s *Service) giveTopic(r *room, author *session, text string) {
	by, now := s.o.Name, s.o.Now()
	r.put(post{from: author, last: true,
		entry: log.Entry{Time: now, Body: ":" + by + " TOPIC " + r.name + " :" + text},
		change: func(d *draft) {
			d.topic, d.topicBy, d.topicAt = text, by, now
		}})
}

// errNotStored is what somebody is told whose change the disk refused. The log has the reason.
var errNotStored = errors.New("chat: the disk did not take it")

// putAndWait has the server itself change feeds: put is called under the lock with the session that
// posts come from. It returns when all of them are done: nil if they hold. It must not be called
// with the lock.
func (s *Service) putAndWait(put func(author *session) error) (err error) {
	by := &agent{done: make(chan struct{}, 1)}
	author := &session{svc: s, conn: by}
	author.pending.Add(1) // until all are put
	author.waiting.Store(true)
	s.locked(func() { err = put(author) })
	if author.pending.Add(-1) == 0 && author.waiting.Swap(false) {
		return err // there were none, or they are done already
	}
	<-by.done // settle is called for every post, whatever becomes of it
	if err == nil && by.refused.Load() {
		err = errNotStored
	}
	return err
}

// agent is the connection of a session of the server's own: all that it may be told is that
// something was refused.
type agent struct {
	refused atomic.Bool
	// settle -> putAndWait: all posts are done; capacity 1: settle does not wait
	done chan struct{}
}

func (a *agent) Send([]byte) bool     { a.refused.Store(true); return true }
func (a *agent) Post()                { a.done <- struct{}{} }
func (a *agent) Close()               {}
func (a *agent) RemoteAddr() net.Addr { return nil }

// settleWithin is how long an administrator waits for the disk.
const settleWithin = 10 * time.Second

// reaches waits until all that was said in a feed, and its state, has reached the disk.
func (s *Service) reaches(f *feed) error {
	for end := time.Now().Add(settleWithin); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		busy := f.queued || f.stateless || len(f.pending) > 0
		s.mu.Unlock()
		if !busy {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("chat: the disk has not answered for %v", settleWithin)
		}
	}
}

// DeleteRoom deletes a room with all its messages. Who is in it is put out. Its text is gone from
// the data directory when it returns; backups and the index for searching keep it until they are
// made anew or brought up to date.
func (s *Service) DeleteRoom(name string) error {
	s.opening.Lock() // nobody opens a room meanwhile
	defer s.opening.Unlock()
	if err := s.exists(name); err != nil {
		return err
	}
	s.mu.Lock()
	r := s.rooms[irc.Fold(name)]
	if r != nil && s.frozen != nil {
		s.mu.Unlock()
		return errUpgrading
	}
	if r != nil {
		r.deleted = true
		for u := range r.members {
			s.serverNews("KICK", r.name, u.nick, "The room was deleted").toRoom(r)
			r.remove(u)
		}
	}
	s.unlock()
	if r != nil {
		if err := s.letGo(r); err != nil {
			return err
		}
	}
	room, _ := data.Named(name) // exists has seen it
	trash, err := os.MkdirTemp(s.dir, deleting)
	if err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(s.dir, filepath.FromSlash(room.Path)), filepath.Join(trash, "room")); err != nil {
		return errors.Join(err, os.Remove(trash))
	}
	return errors.Join(durable.SyncDir(filepath.Join(s.dir, "rooms")), os.RemoveAll(trash))
}

// letGo closes a room that nobody is in and nobody may enter.
func (s *Service) letGo(r *room) error {
	s.locked(s.retryStates) // the sweeper may be waiting for us
	if err := s.reaches(&r.feed); err != nil {
		s.locked(func() { r.deleted = false })
		return err
	}
	s.locked(func() { delete(s.rooms, irc.Fold(r.name)) })
	return r.log.Close()
}
