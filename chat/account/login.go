package account

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/xdg-go/scram"

	"weir/chat/irc"
)

// ErrLoginFailed is the only error of a failed login: it does not distinguish an unknown name from
// a wrong password. The caller counts it under the client's address and under Key of its authcid.
var ErrLoginFailed = errors.New("account: the name or the password is wrong")

// ErrMalformed is the error of a message that does not belong to the SASL mechanism.
var ErrMalformed = errors.New("account: not a message of this SASL mechanism")

// maxMessage is the size limit of a client's SASL message, in bytes.
const maxMessage = 1024

// Login is the result of a successful login.
type Login struct {
	*Account
	Device string // device name, folded; "" if the client gave none
}

// Key returns the key under which the caller counts login attempts for an authcid: the folded
// account name, whether the account exists or not. "" if it is not a valid name.
func Key(authcid string) string {
	name, _, err := Split(authcid)
	if err != nil {
		return ""
	}
	return irc.Fold(name)
}

// SplitPlain parses a SASL PLAIN message (RFC 4616, section 2): [authzid] NUL authcid NUL password.
// An authzid of another account is rejected.
func SplitPlain(message []byte) (authcid, password string, err error) {
	parts := bytes.Split(message, []byte{0})
	if len(parts) != 3 || !utf8.Valid(message) || len(message) > maxMessage {
		return "", "", ErrMalformed
	}
	authzid, authcid := string(parts[0]), string(parts[1])
	if !mayActAs(authzid, authcid) {
		return "", "", ErrLoginFailed
	}
	return authcid, string(parts[2]), nil
}

// mayActAs reports whether authcid may act as authzid. Only the same account may.
func mayActAs(authzid, authcid string) bool {
	return authzid == "" || irc.Fold(authzid) == irc.Fold(authcid) || Key(authzid) != "" && Key(authzid) == Key(authcid)
}

// Plain checks a password. authcid is NAME or NAME@DEVICE. It always costs one PBKDF2 (see
// DefaultIterations), whatever the name and the result. So the caller runs it outside of event
// loops and bounds how many run at once.
func (s *Store) Plain(authcid, password string) (Login, error) {
	if len(password) > MaxPassword {
		// no account has such a password, so this reveals nothing about the name
		return Login{}, ErrLoginFailed
	}
	client, err := newSCRAMClient(password)
	if err != nil {
		return Login{}, ErrLoginFailed // for the same reason
	}
	name, device, bad := Split(authcid)
	_, v, known := s.verifierOf(name)
	if proven := v.proves(client); !proven || !known || bad != nil {
		return Login{}, ErrLoginFailed
	}
	return s.login(name, device)
}

// verifierOf returns a verifier for any name. known is false if no password can match it.
func (s *Store) verifierOf(name string) (a *Account, v verifier, known bool) {
	if a = s.Lookup(name); a != nil && a.verifier != nil {
		return a, *a.verifier, true
	}
	return a, decoyVerifier(s.secret, name, s.opts.Iterations), false
}

// login completes a successful proof, during which the account may have been removed.
func (s *Store) login(name, device string) (Login, error) {
	if a := s.Lookup(name); a != nil {
		return Login{a, device}, nil
	}
	return Login{}, ErrLoginFailed
}

// External checks SASL EXTERNAL (RFC 4422, appendix A). fingerprint is that of the client
// certificate that TLS has verified. authzid is the client's message: "", NAME or NAME@DEVICE.
func (s *Store) External(authzid, fingerprint string) (Login, error) {
	cert, err := cleanFingerprint(fingerprint)
	if err != nil {
		return Login{}, err
	}
	a := s.currentAccounts().certs[cert]
	if a == nil || a.Removed {
		return Login{}, ErrLoginFailed
	}
	if authzid == "" {
		return Login{Account: a}, nil
	}
	name, device, err := Split(authzid)
	if err != nil || irc.Fold(name) != irc.Fold(a.Name) {
		return Login{}, ErrLoginFailed
	}
	return Login{a, device}, nil
}

// Scram is the server's side of one SCRAM-SHA-256 exchange (RFC 5802). It is not safe for
// concurrent use.
type Scram struct {
	store    *Store
	exchange *scram.ServerConversation
	name     string // account that the client claims to be
	device   string
	known    bool
	authcid  string
	messages int  // messages received
	ended    bool // the exchange has ended; further messages are malformed
}

// Scram starts an exchange. Its steps are fast, because the client does the hashing.
func (s *Store) Scram() *Scram {
	c := &Scram{store: s}
	server, _ := scram.SHA256.NewServer(c.lookup) // cannot fail
	if s.opts.nonce != nil {
		server.WithNonceGenerator(s.opts.nonce)
	}
	c.exchange = server.NewConversation()
	return c
}

func (c *Scram) lookup(authcid string) (scram.StoredCredentials, error) {
	c.authcid = authcid
	name, device, err := Split(authcid)
	if err != nil {
		name = authcid // the decoy verifier answers, as for any unknown name
	}
	_, v, known := c.store.verifierOf(name)
	c.name, c.device, c.known = name, device, known && err == nil
	return v.StoredCredentials, nil
}

// Key returns the key under which login attempts are counted: see the function Key. "" before the
// first message.
func (c *Scram) Key() string { return Key(c.authcid) }

// Step processes the client's next message, decoded from base64, and returns the server's. After
// done the client is logged in, and server is the server-final-message, to be sent before
// RPL_SASLSUCCESS. After an error the exchange has ended: ErrLoginFailed for a wrong name or
// password, ErrMalformed for an invalid message.
func (c *Scram) Step(client string) (server string, done bool, login Login, err error) {
	c.messages++
	if c.ended || len(client) > maxMessage || !utf8.ValidString(client) {
		c.ended = true
		return "", false, Login{}, ErrMalformed
	}
	server, err = c.exchange.Step(client)
	switch {
	case err != nil && c.messages == 1:
		err = ErrMalformed
	case err != nil || !mayActAs(c.exchange.AuthzID(), c.authcid):
		err = ErrLoginFailed
	case !c.exchange.Done():
		return server, false, Login{}, nil
	case !c.exchange.Valid() || !c.known:
		err = ErrLoginFailed
	default:
		login, err = c.store.login(c.name, c.device)
	}
	c.ended = true
	if err != nil {
		return "", false, Login{}, err
	}
	return server, true, login, nil
}
