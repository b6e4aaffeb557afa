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

// BasicConfig configures [Basic].
type BasicConfig struct {
	// Users is a file of lines NAME:HASH with bcrypt hashes, as htpasswd -B writes it. It must be
	// set.
	Users string `hcl:"users"`
	// Realm is shown to the user by the client; printable ASCII. Empty: "private".
	Realm string `hcl:"realm,optional"`
	// Width is how many passwords are checked at once. A check keeps a CPU busy for 50 ms or more.
	// 0: half the CPUs, at least one.
	Width int `hcl:"width,optional"`
	// Queue is how many exchanges may wait for a check. Clients take turns; further exchanges are
	// answered by 503. Pairs that were verified before do not wait. 0: 64 times Width.
	Queue int `hcl:"queue,optional"`
	// Attempts is how many wrong passwords a client's address may send at once, and then per
	// minute; further ones are answered by 429. An IPv6 /64 counts as one address. Pairs that were
	// verified before are always admitted. 0: 20.
	Attempts int `hcl:"attempts,optional"`
	// Memory is what is known of clients, perhaps from an earlier component. Nil: a new one.
	Memory *Memory
	// OnError is called by the goroutine of an exchange when a changed file cannot be read. The
	// earlier users stay in effect. Nil: not reported.
	OnError func(error)
}

// Basic is a network that admits users with a name and a password: see the package comment. In
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
		return nil, errors.New("auth: width, queue and attempts must not be negative")
	}
	realm, err := quoted(cmp.Or(cfg.Realm, "private"))
	if err != nil {
		return nil, err
	}
	file, err := watchFile(cfg.Users, cfg.OnError, parseUsers)
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
	users   *watchedFile[*users]
	memory  *Memory
	compare func(hash, password []byte) error
}

// compose puts the check of passwords, which blocks, into a stage of its own that only unverified
// pairs go through.
func (b *basic) compose(cfg BasicConfig, inside web.Component, outside []web.Component) web.Component {
	width := cmp.Or(cfg.Width, max(1, runtime.GOMAXPROCS(0)/2))
	check := web.WithTraits(web.Pipe(b.check), web.Traits{Name: "bcrypt", Width: width, Queue: cmp.Or(cfg.Queue, 64*width), InProcess: "wrong passwords of clients"})
	return web.Chain(web.When("password?", b.needsCheck, check), b.guard.compose(inside, outside))
}

// credentialPair is a name and a password, with the hash to compare with.
type credentialPair struct {
	name, password string
	hash           []byte
	userExists     bool // the file has a user of that name
	verified       bool
}

// needsCheck reports whether the exchange has a pair that bcrypt must check. It stores the pair
// under the key b for the stages that follow. A client with too many attempts is answered by 429.
func (b *basic) needsCheck(c *web.Conn) bool {
	if isErrorAnswer(c) {
		return false
	}
	p, err := readPair(c)
	if err != nil {
		c.SetValue(b, err)
		return false
	}
	b.users.refresh(c)
	p.hash, p.userExists = b.users.get().hash(p.name)
	seen := b.memory.has(b.memory.digest(p.hash, p.name, p.password))
	p.verified = seen && p.userExists
	c.SetValue(b, p)
	if p.verified || p.hash == nil {
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
	p := c.Value(b).(*credentialPair)
	d := b.memory.digest(p.hash, p.name, p.password)
	// another exchange may have verified the same pair meanwhile
	same := b.memory.has(d) || b.compare(p.hash, []byte(p.password)) == nil
	if p.verified = same && p.userExists; p.verified {
		b.memory.add(d)
		b.memory.undoAttempt(c.RemoteAddr())
	}
}

// decide returns the user or the reason of the rejection.
func (b *basic) decide(c *web.Conn) (string, error) {
	switch p := c.Value(b).(type) {
	case error:
		return "", p
	case *credentialPair:
		c.SetValue(b, nil) // later components must not see the password
		if p.verified {
			return p.name, nil
		}
	}
	return "", errWrong
}

func readPair(c *web.Conn) (*credentialPair, error) {
	token, err := credentials(c, "Basic")
	if err != nil {
		return nil, err
	}
	return parsePair(token)
}

// parsePair parses credentials (RFC 7617, section 2).
func parsePair(token string) (*credentialPair, error) {
	text, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return nil, errMalformed
	}
	name, password, ok := strings.Cut(string(text), ":")
	if !ok || name == "" || !utf8.Valid(text) || strings.ContainsFunc(string(text), isControl) {
		return nil, errMalformed
	}
	return &credentialPair{name: name, password: password}, nil
}
