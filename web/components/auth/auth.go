// Package auth has components that authenticate clients. They are branches of a network: admitted
// clients go through one arm, others through another, which answers 401 (RFC 9110, section 11).
//
// [Basic] authenticates users by name and password (RFC 7617), from a file of bcrypt hashes as
// htpasswd -B writes it. [Bearer] authenticates them by signed tokens of an issuer (RFC 6750, RFC
// 7519). Both take the same two parts of a network:
//
//   - inside: for admitted clients. Nil: the components that follow, so that the component can
//     stand in a chain as a plain pipe;
//   - outside: for the others. None: the answer 401. Every answer 401, of whatever component, gets
//     the challenge that tells a client what to send.
//
// [web.User] names the admitted client. An exchange whose answer is an error already, such as 429
// of a limit, passes unchanged and goes through neither part, so its password is not checked. Put
// the component before the source: behind one, clients could tell which pages exist.
//
// Files are checked at most once a second, and read again when they have changed. If a changed file
// cannot be read, the earlier content stays in effect and Config.OnError is called.
//
// # Guessing
//
// Checking a password is expensive on purpose. Three rules keep guesses from delaying other
// clients. An address may send a number of wrong passwords a minute; others are answered by 429.
// Checks that wait take turns by address. A pair of name and password that was verified before is
// admitted without a check, from any address. Behind a proxy all clients share its address, unless
// the server trusts the proxy.
//
// Errors never contain a part of a password, a token or a key.
//
// # Limitations
//
// With Basic, every request contains the password: use it over TLS. bcrypt uses the first 72 bytes
// of a password. Names and passwords are compared byte by byte, without Unicode normalization.
// Bearer accepts tokens in the field Authorization only. It does not check revocation, and fetches
// no keys from other servers.
package auth

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"weir/web"
)

// Reasons to reject a client. The client sees only the challenge.
var (
	errNone      = errors.New("auth: no credentials")
	errMalformed = errors.New("auth: malformed credentials")
	errWrong     = errors.New("auth: wrong user or password")
	errTooMany   = errors.New("auth: too many wrong passwords from this address")
)

// guard decides which clients are admitted.
type guard struct {
	// returns the user, or why the exchange is not admitted
	decide    func(*web.Conn) (user string, why error)
	challenge func(why error) string // returns the field WWW-Authenticate of a rejection
}

// compose puts a guard before the two parts of a network.
func (g *guard) compose(inside web.Component, outside []web.Component) web.Component {
	refused := web.Named("refused", web.Pipe(g.reject))
	if inside == nil && len(outside) == 0 {
		return web.Named("auth", web.Pipe(func(c *web.Conn) {
			if !isErrorAnswer(c) && !g.admit(c) {
				g.reject(c)
			}
		}))
	}
	turnAway := func(*web.Conn) {}
	if len(outside) > 0 {
		refused, turnAway = web.Chain(outside...), g.challengeBeforeHead
	}
	return web.Branch("auth", func(c *web.Conn) int {
		switch {
		case isErrorAnswer(c):
			return -1
		case g.admit(c):
			return 0
		}
		turnAway(c)
		return 1
	}, inside, refused)
}

// challengeBeforeHead adds the challenge if the part outside answers 401, which requires one (RFC
// 9110, section 15.5.2).
func (g *guard) challengeBeforeHead(c *web.Conn) {
	why := c.Err()
	c.Before(func(c *web.Conn) {
		if c.Status() == http.StatusUnauthorized && c.Header("WWW-Authenticate") == "" {
			c.SetHeader("WWW-Authenticate", g.challenge(why))
		}
	})
}

// isErrorAnswer reports whether an exchange has an error as its answer already.
func isErrorAnswer(c *web.Conn) bool { return c.Answered() && c.Status() >= 400 }

// admit reports whether an exchange is admitted. It stores the user's name, or the reason of the
// rejection.
func (g *guard) admit(c *web.Conn) bool {
	c.SetValue(web.Personal, "the client's credentials")
	user, why := g.decide(c)
	if why != nil {
		c.SetErr(why)
		return false
	}
	c.SetValue(web.User, user)
	return true
}

// reject answers 401 with the challenge.
func (g *guard) reject(c *web.Conn) {
	why := c.Err()
	c.Answer(c.Fail(http.StatusUnauthorized, why))
	c.SetHeader("WWW-Authenticate", g.challenge(why))
}

// credentials returns the credentials of a scheme from the request's only Authorization field (RFC
// 9110, section 11.4).
func credentials(c *web.Conn, scheme string) (string, error) {
	fields := c.RequestHeaders("Authorization")
	if len(fields) == 0 {
		return "", errNone
	}
	name, rest, _ := strings.Cut(fields[0], " ")
	if len(fields) > 1 || !strings.EqualFold(name, scheme) {
		return "", errMalformed
	}
	return strings.TrimLeft(rest, " "), nil
}

// quoted is a realm as a quoted-string (RFC 9110 section 5.6.4).
func quoted(realm string) (string, error) {
	for _, r := range realm {
		if r < ' ' || r > '~' {
			return "", fmt.Errorf("auth: realm has %q in it: write it in printable ASCII", r)
		}
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(realm) + `"`, nil
}
