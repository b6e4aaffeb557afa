package core

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"weir/chat/account"
	"weir/chat/internal/lobby"
)

// Failed logins are limited: a burst, and then one each guessEvery. The limit that a login counts
// for depends on its origin:
//
//   - A known origin has a limit of its own for one account: a network from which the account has
//     logged in before, or a client with a certificate of the account. So neither strangers, nor
//     neighbours behind the same NAT that guess at other accounts, lock the owner out.
//   - A network without a failure for this name within firstTryWindow counts for two limits: its
//     own, and one of the name that all such networks share. To fill the shared limit, an attacker
//     needs one new network each guessEvery. So a few networks that guess all the time do not lock
//     the owner out at a new address.
//   - All others count for the limit of their network and for that of the name.
//
// A name counts whether an account has it or not. Clients of this machine have no limit by network,
// because they may be behind a local proxy.
const (
	guessEvery        = 6 * time.Second
	guessesPerNetwork = 20
	guessesPerName    = 50
	firstTryWindow    = time.Hour
	maxGuesses        = 1 << 16 // limit on remembered failures
)

// ThrottledError refuses a login because too many have failed. The credentials were not checked.
type ThrottledError struct{ Wait time.Duration }

// Error implements error.
func (e *ThrottledError) Error() string {
	return fmt.Sprintf("too many attempts, try again in %d s", e.Seconds())
}

// Seconds returns the wait in whole seconds, at least one.
func (e *ThrottledError) Seconds() int { return max(1, int((e.Wait+time.Second-1)/time.Second)) }

// guesses holds the failed logins and requested accounts that still count, as the time until which
// each limit is in use (GCRA).
type guesses map[string]time.Time // by network or name

// waitTime returns how long a client must wait if its limit allows bursts of most; 0 if not at all.
func (g guesses) waitTime(key string, burst int, now time.Time) time.Duration {
	until, ok := g[key]
	if !ok || until.Before(now) {
		return 0
	}
	return max(0, until.Sub(now)-time.Duration(burst-1)*guessEvery)
}

func (g guesses) addFailure(key string, now time.Time) {
	until := g[key]
	if until.Before(now) {
		until = now
	}
	// bounded, so that a lockout ends soon after the guessing
	if bound := now.Add(guessesPerName * guessEvery); until.Before(bound) {
		until = until.Add(guessEvery)
	}
	g[key] = until
}

// guessLimit is one of the limits that a login counts for.
type guessLimit struct {
	key   string
	burst int // failures at once
}

// loginLimits returns the limits that a login by a name counts for.
func (s *Core) loginLimits(p Peer, who string) (limits []guessLimit) {
	name := account.Key(who)
	if own := s.ownLimitKey(p, name); own != "" {
		return []guessLimit{{own, guessesPerName}}
	}
	if !p.isLocal() {
		limits = append(limits, guessLimit{p.networkKey(), guessesPerNetwork})
	}
	switch {
	case name == "":
	case !p.isLocal() && !s.guesses[firstTryKey(p, name)].After(s.now):
		limits = append(limits, guessLimit{name + " first", guessesPerName})
	default:
		limits = append(limits, guessLimit{name, guessesPerName})
	}
	return limits
}

// ownLimitKey returns the key of the limit that a known network, or the holder of a certificate,
// has for an account; "" for others.
func (s *Core) ownLimitKey(p Peer, name string) string {
	a := s.env.Accounts.Lookup(name)
	switch {
	case a == nil:
	case p.Fingerprint != "" && slices.Contains(a.Certs, p.Fingerprint):
		return name + " " + p.Fingerprint
	case slices.Contains(s.knownNetworks[name], lobby.Network(p.Addr)):
		return name + " " + p.networkKey()
	}
	return ""
}

// firstTryKey returns the key that remembers a failure of a network for a name. An IPv6 network
// counts as its /48, because one customer may have that many /64.
func firstTryKey(p Peer, name string) string {
	network := lobby.Network(p.Addr)
	if network.Addr().Is6() {
		network, _ = p.Addr.WithZone("").Prefix(48)
	}
	return name + " from " + network.String()
}

// New accounts without an invite are limited by network: a burst of registersPerNetwork, and then
// one each registerEvery.
const (
	registerEvery       = time.Minute
	registersPerNetwork = 10
)

var errMaxRegisters = errors.New("too many accounts were asked for from your address: try again later")

// countRegistration counts a request for an account, or returns an error if there were too
// many. Requests that need an invite are not limited.
func (s *Core) countRegistration(p Peer) error {
	if p.isLocal() || s.Options().Registration != account.RegistrationOpen {
		return nil
	}
	key, now := "new account "+p.networkKey(), s.now
	left := max(0, s.guesses[key].Sub(now))
	if left >= registersPerNetwork*registerEvery {
		return errMaxRegisters
	}
	s.guesses[key] = now.Add(left + registerEvery)
	return nil
}

func (g guesses) removeExpired(now time.Time) {
	for key, until := range g {
		if until.Before(now) {
			delete(g, key)
		}
	}
}

// removeExpiredLimits removes expired limits.
func (s *Core) removeExpiredLimits() {
	s.guesses.removeExpired(s.now)
	for network := range s.networks {
		s.forgetNetwork(network)
	}
}

func (p Peer) networkKey() string { return "@" + lobby.Network(p.Addr).String() }

// checkLoginLimits returns a *ThrottledError if no login by a name may be tried now. The name is
// that from the client, or "*".
func (s *Session) checkLoginLimits(who string) error {
	return s.svc.CheckLoginLimits(s.peer, who)
}

// CheckLoginLimits is the same for any client.
func (s *Core) CheckLoginLimits(p Peer, who string) error {
	now := s.now
	var wait time.Duration
	for _, l := range s.loginLimits(p, who) {
		wait = max(wait, s.guesses.waitTime(l.key, l.burst, now))
	}
	if wait > 0 {
		return &ThrottledError{wait}
	}
	return nil
}

// countFailedLogin counts a failed login, and disconnects the client after maxFailures. A
// throttled login does not lengthen the wait of others.
func (s *Session) countFailedLogin(who string, err error) {
	if s.svc.countFailedLogin(s.peer, who, err); s.failedLogins+1 >= maxFailures {
		s.endWithError("Too many failed logins")
	}
	s.failedLogins++
}

// countFailedLogin counts a failed login of any client, unless it was throttled.
func (s *Core) countFailedLogin(p Peer, who string, err error) {
	if asThrottled(err) != nil {
		return
	}
	now := s.now
	for _, l := range s.loginLimits(p, who) {
		s.guesses.addFailure(l.key, now)
	}
	if name := account.Key(who); name != "" && !p.isLocal() {
		s.guesses[firstTryKey(p, name)] = now.Add(firstTryWindow)
	}
	s.guesses.dropExcess()
}

// dropExcess removes random entries beyond maxGuesses.
func (g guesses) dropExcess() {
	for key := range g {
		if len(g) <= maxGuesses {
			return
		}
		delete(g, key)
	}
}

// asThrottled returns err as a *ThrottledError, or nil.
func asThrottled(err error) *ThrottledError {
	var e *ThrottledError
	errors.As(err, &e)
	return e
}

// loginRefusal returns the reply to a failed login: the text, with the wait if the login was
// throttled.
func loginRefusal(text string, err error) string {
	if e := asThrottled(err); e != nil {
		return text + ": " + e.Error()
	}
	return text
}

// checkPassword checks a password, unless too many logins have failed. It is a task.
func (s *Session) checkPassword(name, password string) (login account.Login, err error) {
	if err := s.checkLoginLimits(name); err != nil {
		return account.Login{}, err
	}
	s.task.await(func() { login, err = s.svc.env.Accounts.Plain(name, password) })
	return login, err
}
