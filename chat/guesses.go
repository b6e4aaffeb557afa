package chat

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"weir/chat/account"
	"weir/chat/internal/lobby"
)

// Logins that fail are limited: so many at once, and then one each guessEvery. What a login counts
// for depends on where it comes from:
//
//   - A network from which the account was logged in to before, and a client that holds a
//     certificate of the account, have a limit of their own for this account, and no other. Neither
//     strangers nor neighbours behind the same NAT that guess at other accounts keep the owner out
//     there.
//   - A network that has not failed for this name within guessFirst counts for its own limit, and
//     for one that such networks share by name. So a few networks that guess all the time do not
//     keep the owner out at a new address: to fill the shared limit they need one network more each
//     guessEvery.
//   - All others count for the limit of their network and for the one of the name.
//
// A name counts whether there is an account of it or not. Clients of this machine have no limit by
// network: a proxy may stand there.
const (
	guessEvery   = 6 * time.Second
	guessNetwork = 20
	guessName    = 50
	guessFirst   = time.Hour
	guessesMost  = 1 << 16 // are remembered
)

// ThrottledError is the answer to a login that comes after too many that have failed: nobody has
// looked whether it is right.
type ThrottledError struct{ Wait time.Duration }

// Error implements error.
func (e *ThrottledError) Error() string {
	return fmt.Sprintf("too many attempts, try again in %d s", e.Seconds())
}

// Seconds is the wait, in whole seconds, one at least.
func (e *ThrottledError) Seconds() int { return max(1, int((e.Wait+time.Second-1)/time.Second)) }

// guesses are the failed logins, and the accounts that were asked for, that are not yet forgotten.
// Guarded by Service.mu.
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
	// it is over soon after they stop
	if most := now.Add(guessName * guessEvery); until.Before(most) {
		until = until.Add(guessEvery)
	}
	g[key] = until
}

// guessLimit is one of the limits that a login counts for.
type guessLimit struct {
	key  string
	most int // at once
}

// limitsOf are the limits that a login by a name counts for. The caller holds the lock.
func (s *Service) limitsOf(p Peer, who string) (limits []guessLimit) {
	name := account.Key(who)
	if own := s.ownLimit(p, name); own != "" {
		return []guessLimit{{own, guessName}}
	}
	if !p.local() {
		limits = append(limits, guessLimit{p.guessKey(), guessNetwork})
	}
	switch {
	case name == "":
	case !p.local() && !s.guesses[pairOf(p, name)].After(s.o.Now()):
		limits = append(limits, guessLimit{name + " first", guessName})
	default:
		limits = append(limits, guessLimit{name, guessName})
	}
	return limits
}

// ownLimit is the key of the limit that a known network, or the holder of a certificate, has for an
// account; "" for others.
func (s *Service) ownLimit(p Peer, name string) string {
	a := s.accounts.Lookup(name)
	switch {
	case a == nil:
	case p.Fingerprint != "" && slices.Contains(a.Certs, p.Fingerprint):
		return name + " " + p.Fingerprint
	case slices.Contains(s.acquainted[name], lobby.Network(p.Addr)):
		return name + " " + p.guessKey()
	}
	return ""
}

// pairOf is the key under which a network that has failed for a name is remembered. Of IPv6 it has
// 48 bits, as one customer may have that many networks.
func pairOf(p Peer, name string) string {
	network := lobby.Network(p.Addr)
	if network.Addr().Is6() {
		network, _ = p.Addr.WithZone("").Prefix(48)
	}
	return name + " from " + network.String()
}

// Accounts that anybody may make are bounded by network too: so many at once, and then one each
// registerEvery.
const (
	registerEvery   = time.Minute
	registerNetwork = 10
)

var errRegisters = errors.New("too many accounts were asked for from your address: try again later")

// mayRegister counts somebody who asks for an account, where no invite is needed, unless there were
// too many. The caller holds the lock.
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

// mayTry says whether somebody may log in by a password now: what the client calls itself, or "*".
// It must not be called with the lock.
func (s *session) mayTry(who string) error { return s.svc.mayTry(s.peer, who) }

// mayTry is the same for any client. The error is a *ThrottledError.
func (s *Service) mayTry(p Peer, who string) error {
	now := s.o.Now()
	var wait time.Duration
	s.locked(func() {
		for _, l := range s.limitsOf(p, who) {
			wait = max(wait, s.guesses.tooMany(l.key, l.most, now))
		}
	})
	if wait > 0 {
		return &ThrottledError{wait}
	}
	return nil
}

// loginFailed remembers a login that failed, and ends the connection when too many did. One that
// was refused because there were too many does not make it worse for others. The caller holds the
// lock.
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
	for _, l := range s.limitsOf(p, who) {
		s.guesses.failed(l.key, now)
	}
	if name := account.Key(who); name != "" && !p.local() {
		s.guesses[pairOf(p, name)] = now.Add(guessFirst)
	}
	s.guesses.trim()
}

// trim forgets some if there are too many: which ones is left to chance.
func (g guesses) trim() {
	for key := range g {
		if len(g) <= guessesMost {
			return
		}
		delete(g, key)
	}
}

// throttled is the error that says that there were too many attempts, nil if err is another.
func throttled(err error) *ThrottledError {
	var e *ThrottledError
	errors.As(err, &e)
	return e
}

// refusedAs is what a client is told of a login that failed: this, unless there were too many
// attempts.
func refusedAs(text string, err error) string {
	if e := throttled(err); e != nil {
		return text + ": " + e.Error()
	}
	return text
}

// plain checks a password, unless too many were wrong. It takes a while, and must not be called
// with the lock.
func (s *session) plain(name, password string) (account.Login, error) {
	if err := s.mayTry(name); err != nil {
		return account.Login{}, err
	}
	return s.svc.accounts.Plain(name, password)
}
