package chat

import (
	"errors"
	"time"

	"weir/chat/account"
	"weir/chat/internal/lobby"
)

// Logins that fail are bounded by network and by name, known or not: so many at once, and then one each guessEvery. By name there may be more,
// so that who guesses does not keep the owner out for long. Clients of this machine are bounded by name only: a proxy may stand there.
const (
	guessEvery   = 6 * time.Second
	guessNetwork = 20
	guessName    = 50
)

var errGuesses = errors.New("too many logins have failed: try again later")

// guesses are the failed logins, and the accounts that were asked for, that are not yet forgotten. Guarded by Service.mu.
type guesses map[string]time.Time // by network or name: when all of them are

func (g guesses) tooMany(key string, most int, now time.Time) bool {
	return g[key].Sub(now) >= time.Duration(most)*guessEvery
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

// mayTry is the same for any client.
func (s *Service) mayTry(p Peer, who string) (err error) {
	now := s.o.Now()
	s.locked(func() {
		g := s.guesses
		if g.tooMany(account.Key(who), guessName, now) || !p.local() && g.tooMany(p.guessKey(), guessNetwork, now) {
			err = errGuesses
		}
	})
	return err
}

// loginFailed remembers a login that failed, and ends the connection when too many did. The caller holds the lock.
func (s *session) loginFailed(who string) {
	s.svc.tryFailed(s.peer, who)
	if s.failures++; s.failures >= maxFailures {
		s.end("Too many failed logins")
	}
}

// tryFailed counts a login that failed. The caller holds the lock.
func (s *Service) tryFailed(p Peer, who string) {
	now := s.o.Now()
	s.guesses.failed(account.Key(who), now)
	s.guesses.failed(p.guessKey(), now)
}

// plain checks a password, unless too many were wrong. It takes a while, and must not be called with the lock.
func (s *session) plain(name, password string) (account.Login, error) {
	if err := s.mayTry(name); err != nil {
		return account.Login{}, err
	}
	return s.svc.accounts.Plain(name, password)
}
