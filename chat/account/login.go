package account

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/xdg-go/scram"

	"weir/chat/irc"
)

// ErrRefused is the only answer to a login that failed: it doesn't tell a name that nobody has from
// a password that is wrong. Count it against the client's address and against Key of what it called
// itself.
var ErrRefused = errors.New("account: the name or the password is wrong")

// ErrMalformed means that a client's SASL message is no message of the mechanism.
var ErrMalformed = errors.New("account: not a message of this SASL mechanism")

// maxMessage bounds a client's message of SCRAM, in bytes.
const maxMessage = 1024

// Login is who has proven to be whom.
type Login struct {
	*Account
	Device string // folded, "" if the client named none
}

// Key is what attempts are to be counted under for a client that calls itself authcid: the folded
// name of the account, whether there is one or not, "" if there can't be one.
func Key(authcid string) string {
	name, _, err := Split(authcid)
	if err != nil {
		return ""
	}
	return irc.Fold(name)
}

// SplitPlain reads a message of SASL PLAIN (RFC 4616): [authzid] NUL authcid NUL password. Who acts
// for another account is refused.
func SplitPlain(message []byte) (authcid, password string, err error) {
	parts := bytes.Split(message, []byte{0})
	if len(parts) != 3 || !utf8.Valid(message) || len(message) > maxMessage {
		return "", "", ErrMalformed
	}
	authzid, authcid := string(parts[0]), string(parts[1])
	if !acts(authzid, authcid) {
		return "", "", ErrRefused
	}
	return authcid, string(parts[2]), nil
}

// acts says whether who is authcid may act as authzid: only as himself.
func acts(authzid, authcid string) bool {
	return authzid == "" || irc.Fold(authzid) == irc.Fold(authcid) || Key(authzid) != "" && Key(authzid) == Key(authcid)
}

// Plain checks a password. authcid is NAME or NAME@DEVICE. It is slow (one PBKDF2, see
// DefaultIterations) whoever asks and whatever the answer, so never call it on an event loop, and
// bound how many run at once.
func (s *Store) Plain(authcid, password string) (Login, error) {
	if len(password) > MaxPassword {
		return Login{}, ErrRefused // no account has it: says nothing about the name
	}
	client, err := prepared(password)
	if err != nil {
		return Login{}, ErrRefused // the same
	}
	name, device, bad := Split(authcid)
	_, v, known := s.verifierOf(name)
	if proven := v.proves(client); !proven || !known || bad != nil {
		return Login{}, ErrRefused
	}
	return s.login(name, device)
}

// verifierOf is a verifier for every name; known is false if it is one that no password can prove.
func (s *Store) verifierOf(name string) (a *Account, v verifier, known bool) {
	if a = s.Lookup(name); a != nil && a.verifier != nil {
		return a, *a.verifier, true
	}
	return a, decoy(s.secret, name, s.o.Iterations), false
}

// login ends a proof: the account may have been removed while it went on.
func (s *Store) login(name, device string) (Login, error) {
	if a := s.Lookup(name); a != nil {
		return Login{a, device}, nil
	}
	return Login{}, ErrRefused
}

// External checks SASL EXTERNAL: fingerprint is that of the certificate that TLS has verified the
// client to hold, authzid the client's message: "", NAME or NAME@DEVICE.
func (s *Store) External(authzid, fingerprint string) (Login, error) {
	cert, err := cleanFingerprint(fingerprint)
	if err != nil {
		return Login{}, err
	}
	a := s.nowAccounts().certs[cert]
	if a == nil || a.Removed {
		return Login{}, ErrRefused
	}
	if authzid == "" {
		return Login{Account: a}, nil
	}
	name, device, err := Split(authzid)
	if err != nil || irc.Fold(name) != irc.Fold(a.Name) {
		return Login{}, ErrRefused
	}
	return Login{a, device}, nil
}

// Scram is the server's side of one SCRAM-SHA-256 conversation. It belongs to one caller.
type Scram struct {
	store   *Store
	talk    *scram.ServerConversation
	name    string // of the account that the client wants to be
	device  string
	known   bool
	authcid string
	steps   int  // how many messages came
	over    bool // no more is taken
}

// Scram begins a conversation. Its steps are quick: the client does the work.
func (s *Store) Scram() *Scram {
	c := &Scram{store: s}
	server, _ := scram.SHA256.NewServer(c.lookup) // can't fail
	if s.o.nonce != nil {
		server.WithNonceGenerator(s.o.nonce)
	}
	c.talk = server.NewConversation()
	return c
}

func (c *Scram) lookup(authcid string) (scram.StoredCredentials, error) {
	c.authcid = authcid
	name, device, err := Split(authcid)
	if err != nil {
		name = authcid // a decoy answers, as for any name that nobody has
	}
	_, v, known := c.store.verifierOf(name)
	c.name, c.device, c.known = name, device, known && err == nil
	return v.StoredCredentials, nil
}

// Key is what attempts are to be counted under, see the function Key; "" before the first message.
func (c *Scram) Key() string { return Key(c.authcid) }

// Step takes the client's next message, decoded from base64, and gives the server's. With done the
// client is logged in: server is the last message, with the proof that the server knows the
// verifier, and is to be sent before the numerics that say so. With an error the conversation is
// over: ErrRefused after a wrong name or password, ErrMalformed after rubbish.
func (c *Scram) Step(client string) (server string, done bool, login Login, err error) {
	c.steps++
	if c.over || len(client) > maxMessage || !utf8.ValidString(client) {
		c.over = true
		return "", false, Login{}, ErrMalformed
	}
	server, err = c.talk.Step(client)
	switch {
	case err != nil && c.steps == 1:
		err = ErrMalformed
	case err != nil || !acts(c.talk.AuthzID(), c.authcid):
		err = ErrRefused
	case !c.talk.Done():
		return server, false, Login{}, nil
	case !c.talk.Valid() || !c.known:
		err = ErrRefused
	default:
		login, err = c.store.login(c.name, c.device)
	}
	c.over = true
	if err != nil {
		return "", false, Login{}, err
	}
	return server, true, login, nil
}
