package auth

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/bcrypt"

	"weir/web"
)

// BasicConfig says who may come in by name and password.
type BasicConfig struct {
	// Users is a file of lines NAME:HASH with bcrypt hashes, as htpasswd -B makes them. It must be
	// given.
	Users string `hcl:"users"`
	// Realm is what the client shows its user; printable ASCII. Empty: "private".
	Realm string `hcl:"realm,optional"`
	// Width is how many passwords are checked at once, each of which keeps a CPU busy for 50 ms and
	// more. 0: half the CPUs, at least one.
	Width int `hcl:"width,optional"`
	// Queue is how many exchanges wait for that, clients taking turns; more are answered by 503.
	// Pairs that were right before do not wait. 0: 64 times Width.
	Queue int `hcl:"queue,optional"`
	// Attempts is how many wrong passwords a client's address may send at once, and then in a
	// minute; more is answered by 429. 64 bits of an address of version 6 count as one. Pairs that
	// were right before are let in all the same. 0: 20.
	Attempts int `hcl:"attempts,optional"`
	// Memory is what is remembered of clients, which another component may have left. Nil: nothing
	// yet.
	Memory *Memory
	// OnError is called by the goroutine of an exchange when a changed file cannot be read. The
	// earlier users stay in effect. Nil: not reported.
	OnError func(error)
}

// Basic is a network that lets in who has a name and a password: see the package's comment. In
// drawings it is a branch "password?" with the stage "bcrypt", and a branch "auth".
func Basic(cfg BasicConfig, inside web.Component, outside ...web.Component) (web.Component, error) {
	if cfg.Users == "" {
		return nil, errors.New("auth: users is not set: name the file of users and bcrypt hashes")
	}
	b, err := newBasic(cfg)
	if err != nil {
		return nil, err
	}
	return b.compose(cfg, inside, outside), nil
}

func newBasic(cfg BasicConfig) (*basic, error) {
	if cfg.Width < 0 || cfg.Queue < 0 || cfg.Attempts < 0 {
		return nil, errors.New("auth: width, queue and attempts cannot be less than 0")
	}
	realm, err := quoted(cmp.Or(cfg.Realm, "private"))
	if err != nil {
		return nil, err
	}
	file, err := watch(cfg.Users, cfg.OnError, parseUsers)
	if err != nil {
		return nil, err
	}
	b := &basic{users: file, memory: cfg.Memory, compare: bcrypt.CompareHashAndPassword}
	if b.memory == nil {
		b.memory = NewMemory(cfg.Attempts)
	}
	b.guard = guard{decide: b.decide, challenge: func(error) string { return "Basic realm=" + realm + `, charset="UTF-8"` }}
	return b, nil
}

type basic struct {
	guard
	users   *watched[*users]
	memory  *Memory
	compare func(hash, password []byte) error
}

// compose puts the check of passwords, which blocks, into a stage of its own that only new pairs go
// through.
func (b *basic) compose(cfg BasicConfig, inside web.Component, outside []web.Component) web.Component {
	width := cmp.Or(cfg.Width, max(1, runtime.GOMAXPROCS(0)/2))
	check := web.WithTraits(web.Pipe(b.check), web.Traits{Name: "bcrypt", Width: width, Queue: cmp.Or(cfg.Queue, 64*width)})
	return web.Chain(web.When("password?", b.unverified, check), b.guard.compose(inside, outside))
}

// pair is a name and a password, with the hash that they are to be held against.
type pair struct {
	name, password string
	hash           []byte
	known          bool // there is a user of that name
	right          bool
}

// unverified reports whether the exchange has a pair that bcrypt must check. It leaves the pair
// under b for the stages that follow. A client that has guessed too often is answered by 429.
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
	seen := b.memory.has(b.memory.digest(p.hash, p.name, p.password))
	p.right = seen && p.known
	c.SetValue(b, p)
	if p.right || p.hash == nil {
		return false
	}
	if wait := b.memory.attempt(c.RemoteAddr()); wait > 0 {
		c.SetValue(b, errTooMany)
		c.Answer(c.Fail(http.StatusTooManyRequests, errTooMany))
		c.SetHeader("Retry-After", strconv.Itoa(wait))
		return false
	}
	return true
}

// check is the stage that blocks.
func (b *basic) check(c *web.Conn) {
	p := c.Value(b).(*pair)
	d := b.memory.digest(p.hash, p.name, p.password)
	// another exchange may have had the same pair meanwhile
	same := b.memory.has(d) || b.compare(p.hash, []byte(p.password)) == nil
	if p.right = same && p.known; p.right {
		b.memory.add(d)
		b.memory.excuse(c.RemoteAddr())
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
