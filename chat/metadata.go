package chat

import (
	"slices"
	"strings"

	"weir/chat/irc"
)

// Limits of draft/metadata-2. What users say of themselves lives as long as they are there; rooms have none.
const (
	maxKeys  = 16
	maxSubs  = 32
	maxValue = 300
)

func (s *session) cmdMetadata(m *irc.Message) {
	target, sub, args := m.Params[0], strings.ToUpper(m.Params[1]), m.Params[2:]
	u := s.user
	if target != "*" {
		u = s.svc.find(target)
	}
	if u == nil {
		s.fail("METADATA", "INVALID_TARGET", irc.Cut(target, irc.MaxRoom), "Only users have metadata")
		return
	}
	switch sub {
	case "GET":
		for _, key := range args {
			s.metadataValue(u, strings.ToLower(key))
		}
	case "LIST", "SYNC":
		s.batchOf("metadata", u.nick, func(extra string) {
			for key, value := range u.metadata {
				s.metadataLine(extra, u, key, value)
			}
		})
	case "SET":
		s.setMetadata(u, args)
	case "CLEAR":
		for key := range u.metadata {
			s.setMetadata(u, []string{key})
		}
	case "SUB":
		s.subscribe(args)
	case "UNSUB":
		s.subs = slices.DeleteFunc(s.subs, func(k string) bool { return slices.Contains(args, k) })
		s.num(irc.RplMetadataUnsubOK, args...)
	case "SUBS":
		s.num(irc.RplMetadataSubs, s.subs...)
	default:
		s.fail("METADATA", "SUBCOMMAND_INVALID", irc.Cut(sub, 32), "Unknown subcommand")
	}
}

// metadataLine says what a key is, in a batch.
func (s *session) metadataLine(extra string, u *user, key, value string) {
	body := ":" + s.svc.o.Name + " " + irc.RplKeyValue + " " + s.nick() + " " + u.nick + " " + key + " * :" + value + "\r\n"
	s.out = irc.AppendView(s.out, 0, extra, nil, []byte(body))
}

func (s *session) metadataValue(u *user, key string) {
	if !validKey(key) {
		s.fail("METADATA", "KEY_INVALID", irc.Cut(key, 64), "A key is small letters, digits and _ . / -")
	} else if value, ok := u.metadata[key]; ok {
		s.metadataLine("", u, key, value)
	} else {
		s.num(irc.RplKeyNotSet, u.nick, key, "key not set")
	}
}

func (s *session) setMetadata(u *user, args []string) {
	if len(args) == 0 {
		s.fail("METADATA", "KEY_INVALID", "*", "Missing key")
		return
	}
	key, value := strings.ToLower(args[0]), strings.Join(args[1:], " ")
	_, had := u.metadata[key]
	switch {
	case u != s.user && !s.user.oper:
		s.fail("METADATA", "KEY_NO_PERMISSION", u.nick, irc.Cut(key, 64), "You may not change what others say of themselves")
		return
	case !validKey(key):
		s.fail("METADATA", "KEY_INVALID", irc.Cut(key, 64), "A key is small letters, digits and _ . / -")
		return
	case len(value) > maxValue:
		s.fail("METADATA", "VALUE_INVALID", "The value is too long")
		return
	case len(args) > 1 && !had && len(u.metadata) >= maxKeys:
		s.fail("METADATA", "LIMIT_REACHED", u.nick, "There are as many keys as there may be")
		return
	}
	if len(args) == 1 {
		delete(u.metadata, key)
		s.num(irc.RplKeyNotSet, u.nick, key, "key not set")
	} else {
		if u.metadata == nil {
			u.metadata = map[string]string{}
		}
		u.metadata[key] = value
		s.metadataLine("", u, key, value)
	}
	s.tellMetadata(u, key, value)
}

// tellMetadata tells those who subscribed to a key and share a room.
func (s *session) tellMetadata(u *user, key, value string) {
	n := &news{tags: irc.AppendTime(nil, s.svc.o.Now()), by: s, quiet: true, need: irc.CapMetadata,
		body: []byte(":" + u.source + " METADATA " + u.nick + " " + key + " * :" + value + "\r\n")}
	s.svc.neighbours(u, func(other *user) {
		for _, session := range other.sessions {
			if slices.Contains(session.subs, key) {
				n.tell(session)
			}
		}
	})
}

func (s *session) subscribe(keys []string) {
	var done []string
	for _, key := range keys {
		switch {
		case !validKey(key):
			s.fail("METADATA", "KEY_INVALID", irc.Cut(key, 64), "A key is small letters, digits and _ . / -")
		case len(s.subs) >= maxSubs:
			s.fail("METADATA", "TOO_MANY_SUBS", key, "There are as many subscriptions as there may be")
		default:
			if !slices.Contains(s.subs, key) {
				s.subs = append(s.subs, key)
			}
			done = append(done, key)
		}
	}
	if len(done) > 0 {
		s.num(irc.RplMetadataSubOK, done...)
	}
}

func validKey(key string) bool {
	return key != "" && len(key) <= 64 && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_./-") == ""
}
