// Package auth has components that ask who a client is, as the branches of a network: those who may
// come in go through one arm, the others through another, which answers 401 (RFC 9110 section 11).
//
// [Basic] knows users by name and password (RFC 7617), from a file of bcrypt hashes as htpasswd -B
// makes it. [Bearer] knows them by signed tokens (RFC 6750, RFC 7519) from somebody who issues
// them. Both take the same two parts of a network:
//
//   - inside, which those go through who may come in. Nil: whatever follows, so that the component
//     can stand in a chain as a plain pipe;
//   - outside, which the others go through. None: the answer 401. An answer 401, whoever gives it,
//     has the challenge that tells a client what to send.
//
// Who was let in is named by [web.User]. An exchange that has an error for an answer already, such
// as 429 of a limit, passes untouched and goes through neither part: its password costs nothing.
// Stand before the source; behind one, what is there can be told from what is not.
//
// Files are read again when they have changed, and looked at once a second at most. One that has
// become unreadable changes nothing: who was known stays known, and Config.Broken is told.
//
// # Guessing
//
// Checking a password is dear on purpose. So that guesses keep no other client out, an address may
// send some wrong passwords a minute, and then is answered by 429; those that wait for a check take
// turns by address; and a pair that was right before is let in without a check, from wherever it
// comes. Behind a proxy all clients have its address, unless it is a trusted front of the server.
//
// Nothing of a password, a token or a key is ever part of an error.
//
// # Limitations
//
// Basic tells every request's password to whoever reads the connection: use it over TLS. bcrypt
// looks at the first 72 bytes of a password. Names and passwords are compared byte by byte:
// Unicode's several spellings of a letter are several letters. Bearer takes tokens from the field
// Authorization alone, asks nobody about revoked ones, and fetches no keys from elsewhere.
package auth

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"weir/web"
)

// Why somebody is refused. The client sees the challenge only.
var (
	errNone      = errors.New("auth: no credentials")
	errMalformed = errors.New("auth: malformed credentials")
	errWrong     = errors.New("auth: wrong user or password")
	errTooMany   = errors.New("auth: too many wrong passwords from this address")
)

// guard decides who may come in.
type guard struct {
	// why an exchange may not come in, nil when it may
	decide    func(*web.Conn) (user string, why error)
	challenge func(why error) string // the field WWW-Authenticate of a refusal
}

// compose puts a guard before the two parts of a network.
func (g *guard) compose(inside web.Component, outside []web.Component) web.Component {
	refused := web.Named("refused", web.Pipe(g.refuse))
	if inside == nil && len(outside) == 0 {
		return web.Named("auth", web.Pipe(func(c *web.Conn) {
			if !lost(c) && !g.admit(c) {
				g.refuse(c)
			}
		}))
	}
	turnAway := func(*web.Conn) {}
	if len(outside) > 0 {
		refused, turnAway = web.Chain(outside...), g.challengeLater
	}
	return web.Branch("auth", func(c *web.Conn) int {
		switch {
		case lost(c):
			return -1
		case g.admit(c):
			return 0
		}
		turnAway(c)
		return 1
	}, inside, refused)
}

// challengeLater has the challenge set if what is outside answers 401, which must have one (RFC
// 9110 section 15.5.2).
func (g *guard) challengeLater(c *web.Conn) {
	why := c.Err()
	c.Before(func(c *web.Conn) {
		if c.Status() == http.StatusUnauthorized && c.Header("WWW-Authenticate") == "" {
			c.SetHeader("WWW-Authenticate", g.challenge(why))
		}
	})
}

// lost says whether an exchange has an error for an answer already.
func lost(c *web.Conn) bool { return c.Answered() && c.Status() >= 400 }

// admit says whether an exchange may come in, and names its user, or keeps the reason why it may
// not.
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

// refuse answers an exchange that may not come in.
func (g *guard) refuse(c *web.Conn) {
	why := c.Err()
	c.Answer(c.Fail(http.StatusUnauthorized, why))
	c.SetHeader("WWW-Authenticate", g.challenge(why))
}

// credentials are what the request's one field Authorization has for a scheme (RFC 9110 section 11.4).
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
