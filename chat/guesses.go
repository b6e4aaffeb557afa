package chat

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"weir/chat/account"
	"weir/chat/internal/lobby"
)

// Logins that fail are bounded, so many at once and then one each guessEvery. First by network, as package lobby counts. Then by name, known or
// not, for all networks together from which nobody has logged in as it: so that strangers, however many, cannot keep the owner out, a network
// that the account was logged in to from is bounded by itself, and so is a client that holds a certificate of the account. Clients of this
// machine are bounded by name only: a proxy may stand there.
const (
	guessEvery   = 6 * time.Second
	guessNetwork = 20
	guessName    = 50
)

// ThrottledError is the answer to a login that comes after too many that have failed: nobody has looked whether it is right.
type ThrottledError struct{ Wait time.Duration }

// Error implements error.
func (e *ThrottledError) Error() string {
	return fmt.Sprintf("too many attempts, try again in %d s", e.Seconds())
}

// Seconds is the wait, in whole seconds, one at least.
func (e *ThrottledError) Seconds() int { return max(1, int((e.Wait+time.Second-1)/time.Second)) }

// guesses are the failed logins, and the accounts that were asked for, that are not yet forgotten. Guarded by Service.mu.
type guesses map[string]time.Time // by network or name: when all of them are

// tooMany is how long somebody has to wait who may fail so often; 0 if not at all.
func (g guesses) tooMany(key string, most int, now time.Time) time.Duration {
	until, ok := g[key]
	if !ok || until.Before(now) {
		return 0
	}
	return max(0, until.Sub(now)-time.Duration(most-1)*guessEvery)
}

func (g guesses) failed(key string, now time.Time) {
	until := g[key]
	if until.Before(now) {
		until = now
	}
	if most := now.Add(guessName * guessEvery); until.Before(most) { // it is over soon after they stop
		until = until.Add(guessEvery)
	}
	g[key] = until
}

// nameKey is what a login by a name is counted under besides its network. The caller holds the lock.
func (s *Service) nameKey(p Peer, who string) string {
	key := account.Key(who)
	a := s.accounts.Lookup(key)
	switch {
	case a == nil:
	case p.Fingerprint != "" && slices.Contains(a.Certs, p.Fingerprint):
		key += " " + p.Fingerprint
	case slices.Contains(s.acquainted[key], lobby.Network(p.Addr)):
		key += " " + p.guessKey()
	}
	return key
}

// Accounts that anybody may make are bounded by network too: so many at once, and then one each registerEvery.
const (
	registerEvery   = time.Minute
	registerNetwork = 10
)

var errRegisters = errors.New("too many accounts were asked for from your address: try again later")

// mayRegister counts somebody who asks for an account, where no invite is needed, unless there were too many. The caller holds the lock.
func (s *Service) mayRegister(p Peer) error {
	if p.local() || s.opts().Registration != account.ByAnybody {
		return nil
	}
	key, now := "new account "+p.guessKey(), s.o.Now()
	left := max(0, s.guesses[key].Sub(now))
	if left >= registerNetwork*registerEvery {
		return errRegisters
	}
	s.guesses[key] = now.Add(left + registerEvery)
	return nil
}

func (g guesses) forget(now time.Time) {
	for key, until := range g {
		if until.Before(now) {
			delete(g, key)
		}
	}
}

// forgive forgets what is long enough ago. The caller holds the lock.
func (s *Service) forgive() {
	s.guesses.forget(s.o.Now())
	for network := range s.perAddr {
		s.forgetVisitors(network)
	}
}

func (p Peer) guessKey() string { return "@" + lobby.Network(p.Addr).String() }

// mayTry says whether somebody may log in by a password now: what the client calls itself, or "*". It must not be called with the lock.
func (s *session) mayTry(who string) error { return s.svc.mayTry(s.peer, who) }

// mayTry is the same for any client. The error is a *ThrottledError.
func (s *Service) mayTry(p Peer, who string) error {
	now := s.o.Now()
	var wait time.Duration
	s.locked(func() {
		if !p.local() {
			wait = s.guesses.tooMany(p.guessKey(), guessNetwork, now)
		}
		wait = max(wait, s.guesses.tooMany(s.nameKey(p, who), guessName, now))
	})
	if wait > 0 {
		return &ThrottledError{wait}
	}
	return nil
}

// loginFailed remembers a login that failed, and ends the connection when too many did. One that was refused because there were too many does
// not make it worse for others. The caller holds the lock.
func (s *session) loginFailed(who string, err error) {
	if s.svc.tryFailed(s.peer, who, err); s.failures+1 >= maxFailures {
		s.end("Too many failed logins")
	}
	s.failures++
}

// tryFailed counts a login that failed. The caller holds the lock.
func (s *Service) tryFailed(p Peer, who string, err error) {
	if throttled(err) != nil {
		return
	}
	now := s.o.Now()
	s.guesses.failed(p.guessKey(), now)
	if key := s.nameKey(p, who); key != "" {
		s.guesses.failed(key, now)
	}
}

// throttled is the error that says that there were too many attempts, nil if err is another.
func throttled(err error) *ThrottledError {
	var e *ThrottledError
	errors.As(err, &e)
	return e
}

// refusedAs is what a client is told of a login that failed: this, unless there were too many attempts.
func refusedAs(text string, err error) string {
	if e := throttled(err); e != nil {
		return text + ": " + e.Error()
	}
	return text
}

// plain checks a password, unless too many were wrong. It takes a while, and must not be called with the lock.
func (s *session) plain(name, password string) (account.Login, error) {
	if err := s.mayTry(name); err != nil {
		return account.Login{}, err
	}
	return s.svc.accounts.Plain(name, password)
}
