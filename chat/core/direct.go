package core

import (
	"slices"
	"strings"

	"weir/chat/data"
	"weir/chat/irc"
)

// Direct messages. Between accounts they are stored in a log, direct/A,B, whether the recipient is
// online or not.

// isSelfConversation reports whether an account talks to itself.
func (f *conversation) isSelfConversation() bool {
	return f.room == nil && f.accounts[0] == f.accounts[1]
}

// sendToUser sends a message to a user, or to an account that is offline.
func (s *Session) sendToUser(m *message) {
	to := s.svc.findUser(m.target)
	from := s.user.account
	account := ""
	switch a := s.svc.env.Accounts.Lookup(m.target); {
	case to != nil:
		account = to.account
	case from != "" && a != nil && m.isStored():
		account = a.Name
	default:
		if !irc.Silent(m.command) {
			s.numeric(irc.ErrNoSuchNick, irc.Cut(m.target, irc.MaxNick), "No such nick")
		}
		return
	}
	if to != nil && to.away != "" && m.command == "PRIVMSG" {
		s.numeric(irc.RplAway, to.nick, to.away)
	}
	if from == "" || account == "" || !m.isStored() {
		s.sendUnstored(m, to.nick, func(n *notification) {
			n.sendToUser(s.user)
			if to != s.user {
				n.sendToUser(to)
			} else {
				s.afterReplies = append(s.afterReplies, n.line(s)...)
			}
		})
		return
	}
	s.sendToAccount(m, account)
}

// sendToAccount stores a direct message if its log is open. Otherwise a task opens the log first.
func (s *Session) sendToAccount(m *message, account string) {
	if f := s.svc.directs[pairKey(s.user.account, account)]; f != nil {
		s.storeMessage(f, m, account)
		return
	}
	ownAccount := s.user.account
	s.startTask(func() {
		f, err := s.svc.openDirect(s.task, ownAccount, account)
		switch {
		case !s.isActive():
		case err != nil:
			s.numeric(irc.ErrCannotSend, account, "Your message was not stored: "+publicError(err))
		default:
			s.storeMessage(f, m, account)
		}
	})
}

// pairKey returns the key of a direct conversation: both accounts, folded and sorted.
func pairKey(a, b string) string {
	pair := []string{irc.Fold(a), irc.Fold(b)}
	slices.Sort(pair)
	return pair[0] + "," + pair[1]
}

// openDirect returns the direct conversation of two accounts and opens its log if necessary.
func (s *Core) openDirect(t *Task, a, b string) (*conversation, error) {
	key := pairKey(a, b)
	s.opening.lock(t)
	defer s.opening.unlock()
	if f := s.directs[key]; f != nil {
		f.lastUsed = s.now // so that closeIdle does not close it before it is used
		return f, nil
	}
	if len(s.rooms)+len(s.directs) >= s.Options().MaxRooms {
		return nil, errMaxRooms
	}
	f, now := &conversation{}, s.now
	var err error
	t.await(func() { err = s.openConversationLog(f, data.Direct+"/"+data.Folder(key), key, now) })
	if err != nil {
		return nil, err
	}
	f.accounts[0], f.accounts[1], _ = strings.Cut(key, ",")
	s.directs[key] = f
	return f, nil
}

// otherAccount returns the partner of an account in a direct conversation.
func (f *conversation) otherAccount(account string) string {
	if f.accounts[0] == irc.Fold(account) {
		return f.accounts[1]
	}
	return f.accounts[0]
}

// nameFor returns the target by which a session addresses the conversation.
func (f *conversation) nameFor(s *Session) string {
	if f.room != nil {
		return f.name
	}
	return f.otherAccount(s.login.Name)
}

// resumption says whether a session receives its account's direct conversations.
type resumption uint8

const (
	notResumed resumption = iota
	resuming              // it is catching up; new conversations must be caught up with too
	isResumed
)

// subscribePair subscribes the sessions of both accounts that have connected since the last
// batch.
func (f *conversation) subscribePair() {
	for i, name := range f.accounts {
		u := f.svc.users[name]
		if u == nil || u.account == "" || i == 1 && f.accounts[0] == f.accounts[1] {
			continue
		}
		for _, s := range u.sessions {
			if s.directsResumption == notResumed || f.subscriptionOf(s) != nil {
				continue
			}
			sub := f.subscribe(s)
			sub.sentUpTo, sub.hasGap = f.batch.First, s.directsGap
			if s.directsResumption == isResumed {
				subscriptionLife.move(&sub.state, live)
			}
			s.directs = append(s.directs, f)
		}
	}
}

// resumeDirects replays the direct messages that the session's account missed and subscribes the
// session to new ones. It is a task.
func (s *Session) resumeDirects() {
	s.directsResumption = resuming
	for _, other := range s.directPartners() {
		f, err := s.svc.openDirect(s.task, s.login.Name, other)
		s.directsGap = s.directsGap || err != nil
		if err == nil && s.isActive() && f.subscriptionOf(s) == nil {
			f.subscribe(s)
			s.directs = append(s.directs, f)
		}
	}
	for sub := s.nextToCatchUp(); sub != nil && s.catchUp(sub); {
		sub = s.nextToCatchUp()
	}
}

// nextToCatchUp returns a direct conversation that the session must catch up with. When there is
// none, the session counts as resumed.
func (s *Session) nextToCatchUp() *subscription {
	for _, f := range s.directs {
		if sub := f.subscriptionOf(s); sub != nil && sub.state == catchingUp && s.ownership != closedDuringTask {
			return sub
		}
	}
	s.directsResumption = isResumed
	return nil
}

// directPartners returns the accounts with which the session's account has a direct conversation.
// It is a task.
func (s *Session) directPartners() (others []string) {
	s.task.await(func() { others = s.svc.env.Storage.DirectPartners(s.login.Name) })
	return others
}
