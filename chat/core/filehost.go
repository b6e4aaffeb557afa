package core

import (
	"crypto/sha256"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"weir/chat/account"
	"weir/chat/irc"
)

// Files are uploaded by HTTP to Options.UploadURL (draft/FILEHOST,
// https://github.com/ircv3/ircv3-specifications/pull/562, and soju.im/FILEHOST). The uploader
// authenticates with a token that its session requested by FILEHOST TOKEN, or with account name and
// password.

const (
	tokenLifetime    = 5 * time.Minute
	tokensPerAccount = 16 // per account; one more replaces the oldest
)

// Errors of uploads.
var (
	ErrNotLoggedIn = errors.New("chat: wrong account or password, or the token was used or has expired")
	ErrBanned      = errors.New("chat: banned from this server")
)

// uploadTokens are the tokens that authenticate uploads, oldest first.
type uploadTokens []token

type token struct {
	hash      [sha256.Size]byte // hash of the token's text; comparing hashes leaks no timing
	account   string
	expiresAt time.Time
}

// add adds a token of an account.
func (all *uploadTokens) add(text, account string, now time.Time) {
	has := 0
	for _, t := range *all {
		if t.account == account {
			has++
		}
	}
	left := slices.DeleteFunc(*all, func(t token) bool {
		if t.account == account && has >= tokensPerAccount {
			has--
			return true
		}
		return !now.Before(t.expiresAt)
	})
	*all = append(left, token{sha256.Sum256([]byte(text)), account, now.Add(tokenLifetime)})
}

// redeem removes a token and returns its account; ok is false if it is unknown or expired.
func (all *uploadTokens) redeem(text string, now time.Time) (account string, ok bool) {
	sum := sha256.Sum256([]byte(text))
	i := slices.IndexFunc(*all, func(t token) bool { return t.hash == sum })
	if i < 0 {
		return "", false
	}
	t := (*all)[i]
	*all = slices.Delete(*all, i, i+1)
	return t.account, now.Before(t.expiresAt)
}

// RedeemUploadToken returns the account that a token authenticates, and removes the token.
func (s *Core) RedeemUploadToken(from netip.Addr, text string) (name string, err error) {
	account, ok := s.uploadTokens.redeem(text, s.now)
	if !ok {
		return "", ErrNotLoggedIn
	}
	return s.checkUploader(from, account)
}

// FinishUploaderLogin returns the account of a client that has logged in by a password to upload.
// Failed is the error of the login.
func (s *Core) FinishUploaderLogin(p Peer, name string, login account.Login, failed error) (string, error) {
	if failed != nil {
		s.logRefusedLogin(name, p.Addr, failed)
		s.countFailedLogin(p, name, failed)
		return "", ErrNotLoggedIn
	}
	s.rememberNetwork(login.Name, p.Addr)
	return s.checkUploader(p.Addr, login.Name)
}

// checkUploader returns the account's name, or an error if it was removed or is banned.
func (s *Core) checkUploader(from netip.Addr, name string) (string, error) {
	a := s.env.Accounts.Lookup(name)
	if a == nil {
		return "", ErrNotLoggedIn
	}
	if _, banned := s.env.Accounts.Banned(account.Client{Account: a.Name, Addr: from}, s.now); banned {
		return "", ErrBanned
	}
	return a.Name, nil
}

func (s *Session) cmdFilehost(m *irc.Message) {
	switch {
	case s.svc.Options().UploadURL == "":
		s.numeric(irc.ErrUnknownCommand, m.Command, "This server accepts no uploads")
	case !strings.EqualFold(m.Params[0], "TOKEN"):
		s.fail("FILEHOST", "INVALID_PARAMS", irc.Word(irc.Cut(m.Params[0], 32)), "Unknown subcommand")
	case s.login.Account == nil:
		s.fail("FILEHOST", "ACCOUNT_REQUIRED", "You have to log in to upload files")
	default:
		text := s.svc.env.RandomText()
		s.svc.uploadTokens.add(text, s.login.Name, s.svc.now)
		s.reply("FILEHOST", "TOKEN", text)
	}
}

// cmdUpload explains how to upload without support of the client.
func (s *Session) cmdUpload(*irc.Message) {
	to := s.svc.Options().UploadURL
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
