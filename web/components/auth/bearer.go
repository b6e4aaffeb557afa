package auth

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"weir/web"
)

// maxToken is the longest token that is looked at, in bytes.
const maxToken = 16 << 10

// BearerConfig says which tokens let in.
type BearerConfig struct {
	// Algorithm is HS256, RS256, ES256 or EdDSA. It must be given: what a token says of its own is
	// held against it.
	Algorithm string `hcl:"algorithm"`
	// Key is the file of the key. HS256: a secret of at least 32 bytes (a newline at the end is
	// none of it). The others: the issuer's public key, in PEM or as a JSON Web Key Set (RFC 7517).
	// It must be given.
	Key string `hcl:"key"`
	// Issuer is who must have issued a token (iss). Empty: anybody who has the key.
	Issuer string `hcl:"issuer,optional"`
	// Audience is whom a token must be for (aud). Empty: tokens that name an audience are refused.
	Audience string `hcl:"audience,optional"`
	// User is the claim that names the user, a text. Empty: sub.
	User string `hcl:"user,optional"`
	// Leeway is by how much clocks may differ, such as "10s", at most "5m". Empty: not at all.
	Leeway string `hcl:"leeway,optional"`
	// Realm is what the client is told; printable ASCII. Empty: "private".
	Realm string `hcl:"realm,optional"`
	// OnError is called by the goroutine of an exchange when a changed key file cannot be read. The
	// earlier keys stay in effect. Nil: not reported.
	OnError func(error)
}

// Why a token is refused.
var (
	errToken    = errors.New("auth: the token is no JSON Web Token of the right algorithm and key")
	errExpired  = errors.New("auth: the token has expired, or never does")
	errEarly    = errors.New("auth: the token is not valid yet")
	errIssuer   = errors.New("auth: the token is somebody else's")
	errAudience = errors.New("auth: the token is for somebody else")
	errUser     = errors.New("auth: the token names no user")
)

// Bearer is a network that lets in who has a token: see the package's comment. A token must expire
// (exp).
func Bearer(cfg BearerConfig, inside web.Component, outside ...web.Component) (web.Component, error) {
	read, ok := keyReaders[cfg.Algorithm]
	if !ok {
		return nil, fmt.Errorf("auth: algorithm is %q: choose HS256, RS256, ES256 or EdDSA", cfg.Algorithm)
	}
	if cfg.Key == "" {
		return nil, errors.New("auth: key is not set: name the file of the key")
	}
	realm, err := quoted(cmp.Or(cfg.Realm, "private"))
	if err != nil {
		return nil, err
	}
	leeway, err := time.ParseDuration(cmp.Or(cfg.Leeway, "0"))
	if err != nil || leeway < 0 || leeway > 5*time.Minute {
		return nil, fmt.Errorf("auth: leeway is %q: write a time up to 5m, such as 10s", cfg.Leeway)
	}
	keys, err := watch(cfg.Key, cfg.OnError, read)
	if err != nil {
		return nil, err
	}
	b := &bearer{keys: keys, audience: cfg.Audience, user: cmp.Or(cfg.User, "sub"), named: cfg.User != "", parser: parser(cfg, leeway)}
	g := guard{decide: b.decide, challenge: challenge(realm)}
	return g.compose(inside, outside), nil
}

func parser(cfg BearerConfig, leeway time.Duration) *jwt.Parser {
	options := []jwt.ParserOption{
		jwt.WithValidMethods([]string{cfg.Algorithm}), jwt.WithStrictDecoding(),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(leeway),
	}
	if cfg.Issuer != "" {
		options = append(options, jwt.WithIssuer(cfg.Issuer))
	}
	if cfg.Audience != "" {
		options = append(options, jwt.WithAudience(cfg.Audience))
	}
	return jwt.NewParser(options...)
}

// challenge is the field WWW-Authenticate of RFC 6750 section 3: a client that has sent nothing is
// told no error.
func challenge(realm string) func(error) string {
	return func(why error) string {
		if why == errNone {
			return "Bearer realm=" + realm
		}
		return "Bearer realm=" + realm + `, error="invalid_token"`
	}
}

type bearer struct {
	keys     *watched[[]key]
	parser   *jwt.Parser
	audience string
	user     string // the claim
	named    bool   // the claim was asked for, and must be there
}

func (b *bearer) decide(c *web.Conn) (string, error) {
	token, err := credentials(c, "Bearer")
	if err != nil {
		return "", err
	}
	return b.verify(token)
}

// verify is the user that a token names. Its errors are the package's own: the library's may have
// parts of the token in them.
func (b *bearer) verify(token string) (string, error) {
	if len(token) > maxToken {
		return "", errToken
	}
	claims := jwt.MapClaims{}
	if _, err := b.parser.ParseWithClaims(token, claims, b.keysOf); err != nil {
		return "", reason(err)
	}
	// RFC 7519 section 4.1.3: who does not find itself among the audience refuses the token.
	if _, meant := claims["aud"]; meant && b.audience == "" {
		return "", errAudience
	}
	user, ok := claims[b.user].(string)
	if b.named && !ok {
		return "", errUser
	}
	return user, nil
}

// keysOf are the keys that may have signed a token: the one that it names, or all when it names
// none.
func (b *bearer) keysOf(t *jwt.Token) (any, error) {
	// RFC 7515 section 4.1.11: we understand no extension
	if _, critical := t.Header["crit"]; critical {
		return nil, errToken
	}
	id, named := t.Header["kid"].(string)
	var set jwt.VerificationKeySet
	for _, k := range b.keys.get() {
		if !named || k.id == "" || k.id == id {
			set.Keys = append(set.Keys, k.public)
		}
	}
	if len(set.Keys) == 0 {
		return nil, errToken
	}
	return set, nil
}

// reason is why the library has refused a token.
func reason(err error) error {
	for _, r := range []struct {
		library []error
		ours    error
	}{
		{[]error{jwt.ErrTokenExpired, jwt.ErrTokenRequiredClaimMissing}, errExpired},
		{[]error{jwt.ErrTokenNotValidYet, jwt.ErrTokenUsedBeforeIssued}, errEarly},
		{[]error{jwt.ErrTokenInvalidIssuer}, errIssuer},
		{[]error{jwt.ErrTokenInvalidAudience}, errAudience},
	} {
		if slices.ContainsFunc(r.library, func(is error) bool { return errors.Is(err, is) }) {
			return r.ours
		}
	}
	return errToken
}
