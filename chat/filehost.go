package chat

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/chat/account"
	"weir/chat/irc"
)

// Files are uploaded by HTTP, to Options.Upload (draft/FILEHOST,
// https://github.com/ircv3/ircv3-specifications/pull/562, and soju.im/FILEHOST). Who uploads proves
// who he is by a token that his session asked for, by FILEHOST TOKEN, or by his account's name and
// password.

const (
	tokenLasts  = 5 * time.Minute
	tokensEach  = 16 // of an account; one more takes the place of the oldest
	triesAtOnce = 2  // passwords that are checked at once: each needs a processor
)

// Errors of those who upload.
var (
	ErrNotLoggedIn = errors.New("chat: there is no such account and password, or the token was used or is too old")
	ErrBanned      = errors.New("chat: banned from this server")
)

// filehost is what the service knows of those who upload.
type filehost struct {
	// full while as many passwords are checked as may be; capacity triesAtOnce, never closed
	checking chan struct{}

	mu     sync.Mutex // guards what follows
	tokens []token    // the oldest first
}

type token struct {
	sum     [sha256.Size]byte // of its text, so that comparing tells nothing
	account string
	until   time.Time
}

func newFilehost() *filehost {
	return &filehost{checking: make(chan struct{}, triesAtOnce)}
}

// give makes a token for an account.
func (h *filehost) give(account string, now time.Time) string {
	text := rand.Text()
	h.mu.Lock()
	defer h.mu.Unlock()
	has := 0
	for _, t := range h.tokens {
		if t.account == account {
			has++
		}
	}
	h.tokens = slices.DeleteFunc(h.tokens, func(t token) bool {
		if t.account == account && has >= tokensEach {
			has--
			return true
		}
		return !now.Before(t.until)
	})
	h.tokens = append(h.tokens, token{sha256.Sum256([]byte(text)), account, now.Add(tokenLasts)})
	return text
}

// take uses a token up.
func (h *filehost) take(text string, now time.Time) (account string, ok bool) {
	sum := sha256.Sum256([]byte(text))
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.tokens, func(t token) bool { return t.sum == sum })
	if i < 0 {
		return "", false
	}
	t := h.tokens[i]
	h.tokens = slices.Delete(h.tokens, i, i+1)
	return t.account, now.Before(t.until)
}

// ByToken is the account whose session was given a token for uploading, which is good once. The
// client's address is for bans.
func (s *Service) ByToken(from netip.Addr, text string) (name string, err error) {
	name, ok := s.filehost.take(text, s.o.Now())
	if !ok {
		return "", ErrNotLoggedIn
	}
	return s.mayUpload(from, name)
}

// ByPassword is the account of a name, or NAME@DEVICE, and a password. It waits until others are
// checked, or ctx ends. Tries that fail are limited together with those of sessions: then the error
// is a *ThrottledError.
func (s *Service) ByPassword(ctx context.Context, from netip.Addr, name, password string) (string, error) {
	p := Peer{Addr: from}
	if err := s.mayTry(p, name); err != nil {
		return "", err
	}
	select {
	case s.filehost.checking <- struct{}{}:
		defer func() { <-s.filehost.checking }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if err := s.mayTry(p, name); err != nil { // others have failed meanwhile
		return "", err
	}
	login, err := s.accounts.Plain(name, password)
	if err != nil {
		s.noteRefusal(name, from, err)
		s.locked(func() { s.tryFailed(p, name, err) })
		return "", ErrNotLoggedIn
	}
	s.locked(func() { s.cameFrom(login.Name, from) })
	return s.mayUpload(from, login.Name)
}

// mayUpload keeps out who was banned or removed.
func (s *Service) mayUpload(from netip.Addr, name string) (string, error) {
	a := s.accounts.Lookup(name)
	if a == nil || a.Removed {
		return "", ErrNotLoggedIn
	}
	if _, banned := s.accounts.Banned(account.Client{Account: a.Name, Addr: from}, s.o.Now()); banned {
		return "", ErrBanned
	}
	return a.Name, nil
}

// Upload is where clients are told to upload files; "" nowhere.
func (s *Service) Upload() string { return s.opts().Upload }

func (s *session) cmdFilehost(m *irc.Message) {
	switch {
	case s.svc.opts().Upload == "":
		s.num(irc.ErrUnknownCommand, m.Command, "There is no place for files")
	case !strings.EqualFold(m.Params[0], "TOKEN"):
		s.fail("FILEHOST", "INVALID_PARAMS", irc.Word(irc.Cut(m.Params[0], 32)), "Unknown subcommand")
	case s.login.Account == nil:
		s.fail("FILEHOST", "ACCOUNT_REQUIRED", "You have to log in to upload files")
	default:
		s.say("FILEHOST", "TOKEN", s.svc.filehost.give(s.login.Name, s.svc.o.Now()))
	}
}

// cmdUpload tells people whose clients can't upload how it is done.
func (s *session) cmdUpload(*irc.Message) {
	to := s.svc.opts().Upload
	lines := []string{"There is no place for files"}
	if to != "" {
		name := s.nick()
		if s.login.Account != nil {
			name = s.login.Name
		}
		lines = []string{"Your client may be able to upload files by itself. Otherwise, in a terminal:",
			"curl -u " + name + " -T FILE " + to + "/",
			"asks for the password of your account, and prints the link to the file. Who has the link can see the file."}
	}
	for _, line := range lines {
		s.say("NOTICE", s.nick(), line)
	}
}
