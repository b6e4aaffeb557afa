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

// Files are uploaded by HTTP to Options.UploadURL (draft/FILEHOST,
// https://github.com/ircv3/ircv3-specifications/pull/562, and soju.im/FILEHOST). The uploader
// authenticates with a token that its session requested by FILEHOST TOKEN, or with account name and
// password.

const (
	tokenLifetime        = 5 * time.Minute
	tokensPerAccount     = 16 // per account; one more replaces the oldest
	passwordChecksAtOnce = 2  // password checks at once: each needs a CPU
)

// Errors of uploads.
var (
	ErrNotLoggedIn = errors.New("chat: wrong account or password, or the token was used or has expired")
	ErrBanned      = errors.New("chat: banned from this server")
)

// filehost authenticates uploads.
type filehost struct {
	// semaphore of password checks; capacity passwordChecksAtOnce, never closed
	checkSlots chan struct{}

	mu     sync.Mutex // guards what follows
	tokens []token    // oldest first
}

type token struct {
	hash      [sha256.Size]byte // hash of the token's text; comparing hashes leaks no timing
	account   string
	expiresAt time.Time
}

func newFilehost() *filehost {
	return &filehost{checkSlots: make(chan struct{}, passwordChecksAtOnce)}
}

// issueToken creates a token for an account.
func (h *filehost) issueToken(account string, now time.Time) string {
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
		if t.account == account && has >= tokensPerAccount {
			has--
			return true
		}
		return !now.Before(t.expiresAt)
	})
	h.tokens = append(h.tokens, token{sha256.Sum256([]byte(text)), account, now.Add(tokenLifetime)})
	return text
}

// redeemToken removes a token and returns its account; ok is false if it is unknown or expired.
func (h *filehost) redeemToken(text string, now time.Time) (account string, ok bool) {
	sum := sha256.Sum256([]byte(text))
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.tokens, func(t token) bool { return t.hash == sum })
	if i < 0 {
		return "", false
	}
	t := h.tokens[i]
	h.tokens = slices.Delete(h.tokens, i, i+1)
	return t.account, now.Before(t.expiresAt)
}

// AccountByToken returns the account of a session that requested the token. A token is good for one
// use. The client's address is checked for bans.
func (s *Service) AccountByToken(from netip.Addr, text string) (name string, err error) {
	name, ok := s.filehost.redeemToken(text, s.fixed.Now())
	if !ok {
		return "", ErrNotLoggedIn
	}
	return s.checkUploader(from, name)
}

// AccountByPassword returns the account of a name, or NAME@DEVICE, and a password. It waits for a
// free password check until ctx ends. Failures count for the same limits as logins of sessions.
// Beyond them the error is a *ThrottledError.
func (s *Service) AccountByPassword(ctx context.Context, from netip.Addr, name, password string) (string, error) {
	p := Peer{Addr: from}
	checkLimits := func() (err error) {
		s.withLock(func() { err = s.checkLoginLimitsLocked(p, name) })
		return err
	}
	if err := checkLimits(); err != nil {
		return "", err
	}
	select {
	case s.filehost.checkSlots <- struct{}{}:
		defer func() { <-s.filehost.checkSlots }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if err := checkLimits(); err != nil { // others may have failed meanwhile
		return "", err
	}
	login, err := s.accounts.Plain(name, password)
	if err != nil {
		s.logRefusedLogin(name, from, err)
		s.withLock(func() { s.countFailedLoginLocked(p, name, err) })
		return "", ErrNotLoggedIn
	}
	s.withLock(func() { s.rememberNetworkLocked(login.Name, from) })
	return s.checkUploader(from, login.Name)
}

// checkUploader returns the account's name, or an error if it was removed or is banned.
func (s *Service) checkUploader(from netip.Addr, name string) (string, error) {
	a := s.accounts.Lookup(name)
	if a == nil || a.Removed {
		return "", ErrNotLoggedIn
	}
	if _, banned := s.accounts.Banned(account.Client{Account: a.Name, Addr: from}, s.fixed.Now()); banned {
		return "", ErrBanned
	}
	return a.Name, nil
}

// UploadURL returns the URL for uploads, "" for none.
func (s *Service) UploadURL() string { return s.options().UploadURL }

func (s *session) cmdFilehost(m *irc.Message) {
	switch {
	case s.svc.options().UploadURL == "":
		s.numeric(irc.ErrUnknownCommand, m.Command, "This server accepts no uploads")
	case !strings.EqualFold(m.Params[0], "TOKEN"):
		s.fail("FILEHOST", "INVALID_PARAMS", irc.Word(irc.Cut(m.Params[0], 32)), "Unknown subcommand")
	case s.login.Account == nil:
		s.fail("FILEHOST", "ACCOUNT_REQUIRED", "You have to log in to upload files")
	default:
		s.reply("FILEHOST", "TOKEN", s.svc.filehost.issueToken(s.login.Name, s.svc.fixed.Now()))
	}
}

// cmdUpload explains how to upload without support of the client.
func (s *session) cmdUpload(*irc.Message) {
	to := s.svc.options().UploadURL
	lines := []string{"This server accepts no uploads"}
	if to != "" {
		name := s.nick()
		if s.login.Account != nil {
			name = s.login.Name
		}
		lines = []string{"Your client may be able to upload files by itself. Otherwise, in a terminal:",
			"curl -u " + name + " -T FILE " + to + "/",
			"It asks for the password of your account and prints a link. Everyone with the link can see the file."}
	}
	for _, line := range lines {
		s.reply("NOTICE", s.nick(), line)
	}
}
