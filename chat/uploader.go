package chat

import (
	"context"
	"net/netip"
)

// passwordChecksAtOnce is how many passwords of uploads are checked at once: each needs a CPU.
const passwordChecksAtOnce = 2

// AccountByToken returns the account of a session that requested the token. A token is good for one
// use. The client's address is checked for bans.
func (s *Service) AccountByToken(from netip.Addr, text string) (name string, err error) {
	s.withLock(func() { name, err = s.core.RedeemUploadToken(from, text) })
	return name, err
}

// AccountByPassword returns the account of a name, or NAME@DEVICE, and a password. It waits for a
// free password check until ctx ends. Failures count for the same limits as logins of sessions.
// Beyond them the error is a *ThrottledError.
func (s *Service) AccountByPassword(ctx context.Context, from netip.Addr, name, password string) (uploader string, err error) {
	p := Peer{Addr: from}
	checkLimits := func() { err = s.core.CheckLoginLimits(p, name) }
	if s.withLock(checkLimits); err != nil {
		return "", err
	}
	select {
	case s.passwordChecks <- struct{}{}:
		defer func() { <-s.passwordChecks }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if s.withLock(checkLimits); err != nil { // others may have failed meanwhile
		return "", err
	}
	login, failed := s.accounts.Plain(name, password)
	s.withLock(func() { uploader, err = s.core.FinishUploaderLogin(p, name, login, failed) })
	return uploader, err
}

// UploadURL returns the URL for uploads, "" for none.
func (s *Service) UploadURL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.core.Options().UploadURL
}
