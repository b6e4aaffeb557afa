package auth

import (
	"cmp"
	"encoding/base64"
	"errors"
	"runtime"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/bcrypt"

	"weir/web"
)

// BasicConfig says who may come in by name and password.
type BasicConfig struct {
	// Users is a file of lines NAME:HASH with bcrypt hashes, as htpasswd -B makes them. It must be given.
	Users string `hcl:"users"`
	// Realm is what the client shows its user; printable ASCII. Empty: "private".
	Realm string `hcl:"realm,optional"`
	// Width is how many passwords are checked at once, each of which keeps a CPU busy for 50 ms and more. 0: half the CPUs, at least one.
	Width int `hcl:"width,optional"`
	// Queue is how many exchanges wait for that; more are answered by 503. Pairs that were right before do not wait. 0: 4 times Width.
	Queue int `hcl:"queue,optional"`
	// Broken is told when the file has changed to one that can't be read, by the goroutine of an exchange; nil: nobody is.
	Broken func(error)
}

// Basic is a network that lets in who has a name and a password: see the package's comment. In drawings it is a branch
// "password?" with the stage "bcrypt", and a branch "auth".
func Basic(cfg BasicConfig, inside web.Component, outside ...web.Component) (web.Component, error) {
	if cfg.Users == "" {
		return nil, errors.New("auth: users is not set: name the file of users and bcrypt hashes")
	}
	if cfg.Width < 0 || cfg.Queue < 0 {
		return nil, errors.New("auth: width and queue cannot be less than 0")
	}
	realm, err := quoted(cmp.Or(cfg.Realm, "private"))
	if err != nil {
		return nil, err
	}
	file, err := watch(cfg.Users, cfg.Broken, parseUsers)
	if err != nil {
		return nil, err
	}
	b := &basic{users: file, verified: newVerified(), compare: bcrypt.CompareHashAndPassword}
	b.guard = guard{decide: b.decide, challenge: func(error) string { return "Basic realm=" + realm + `, charset="UTF-8"` }}
	return b.compose(cfg, inside, outside), nil
}

type basic struct {
	guard
	users    *watched[*users]
	verified *verified
	compare  func(hash, password []byte) error
}

// compose puts the check of passwords, which blocks, into a stage of its own that only new pairs go through.
func (b *basic) compose(cfg BasicConfig, inside web.Component, outside []web.Component) web.Component {
	width := cmp.Or(cfg.Width, max(1, runtime.GOMAXPROCS(0)/2))
	check := web.With(web.Pipe(b.check), web.Traits{Name: "bcrypt", Width: width, Queue: cfg.Queue})
	return web.Chain(web.When("password?", b.unverified, check), b.guard.compose(inside, outside))
}

// pair is a name and a password, with the hash that they are to be held against.
type pair struct {
	name, password string
	hash           []byte
	known          bool // there is a user of that name
	right          bool
}

// unverified says whether the exchange has a pair that bcrypt is to be asked about. It leaves the pair under b for
// the stages that follow.
func (b *basic) unverified(c *web.Conn) bool {
	if lost(c) {
		return false
	}
	p, err := readPair(c)
	if err != nil {
		c.SetValue(b, err)
		return false
	}
	p.hash, p.known = b.users.get().hash(p.name)
	seen := b.verified.has(b.verified.digest(p.hash, p.name, p.password))
	p.right = seen && p.known
	c.SetValue(b, p)
	return !p.right && p.hash != nil
}

// check is the stage that blocks.
func (b *basic) check(c *web.Conn) {
	p := c.Value(b).(*pair)
	same := b.compare(p.hash, []byte(p.password)) == nil
	if p.right = same && p.known; p.right {
		b.verified.add(b.verified.digest(p.hash, p.name, p.password))
	}
}

// decide says what came of it.
func (b *basic) decide(c *web.Conn) (string, error) {
	switch p := c.Value(b).(type) {
	case error:
		return "", p
	case *pair:
		c.SetValue(b, nil) // the password goes no further than here
		if p.right {
			return p.name, nil
		}
	}
	return "", errWrong
}

func readPair(c *web.Conn) (*pair, error) {
	token, err := credentials(c, "Basic")
	if err != nil {
		return nil, err
	}
	return parsePair(token)
}

// parsePair reads the credentials of RFC 7617 section 2.
func parsePair(token string) (*pair, error) {
	text, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return nil, errMalformed
	}
	name, password, ok := strings.Cut(string(text), ":")
	if !ok || name == "" || !utf8.Valid(text) || strings.ContainsFunc(string(text), control) {
		return nil, errMalformed
	}
	return &pair{name: name, password: password}, nil
}
