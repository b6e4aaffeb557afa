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

// maxToken is the maximum length of a token in bytes.
const maxToken = 16 << 10

// BearerConfig configures [Bearer].
type BearerConfig struct {
	// Algorithm is HS256, RS256, ES256 or EdDSA. It must be set, and a token must use it.
	Algorithm string `hcl:"algorithm"`
	// Key is the key file. It must be set. For HS256 it has a secret of at least 32 bytes, without
	// a newline at the end. For the others it has the issuer's public key, in PEM or as a JSON Web
	// Key Set (RFC 7517).
	Key string `hcl:"key"`
	// Issuer is the required issuer of tokens (iss). Empty: any issuer that has the key.
	Issuer string `hcl:"issuer,optional"`
	// Audience is the required audience of tokens (aud). Empty: tokens with an audience are
	// rejected.
	Audience string `hcl:"audience,optional"`
	// User is the claim that names the user, a string. Empty: "sub".
	User string `hcl:"user,optional"`
	// Leeway is the tolerated clock difference, such as "10s", at most "5m". Empty: none.
	Leeway string `hcl:"leeway,optional"`
	// Realm is part of the challenge; printable ASCII. Empty: "private".
	Realm string `hcl:"realm,optional"`
	// OnError is called by the goroutine of an exchange when a changed key file cannot be read. The
	// earlier keys stay in effect. Nil: not reported.
	OnError func(error)
}

// Reasons to reject a token.
var (
	errToken    = errors.New("auth: the token is not a JSON Web Token of the configured algorithm and key")
	errExpired  = errors.New("auth: the token has expired, or has no expiry")
	errEarly    = errors.New("auth: the token is not valid yet")
	errIssuer   = errors.New("auth: the token has another issuer")
	errAudience = errors.New("auth: the token is for another audience")
	errUser     = errors.New("auth: the token names no user")
)

// Bearer is a network that admits clients with a token: see the package comment. A token must
// expire (exp).
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
	keys, err := watchFile(cfg.Key, cfg.OnError, read)
	if err != nil {
		return nil, err
	}
	b := &bearer{keys: keys, audience: cfg.Audience, userClaim: cmp.Or(cfg.User, "sub"), userRequired: cfg.User != "", parser: parser(cfg, leeway)}
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

// challenge returns the field WWW-Authenticate (RFC 6750, section 3). A client without credentials
// gets no error code.
func challenge(realm string) func(error) string {
	return func(why error) string {
		if why == errNone {
			return "Bearer realm=" + realm
		}
		return "Bearer realm=" + realm + `, error="invalid_token"`
	}
}

type bearer struct {
	keys         *watchedFile[[]key]
	parser       *jwt.Parser
	audience     string
	userClaim    string // the claim that names the user
	userRequired bool   // the claim was configured and must be present
}

func (b *bearer) decide(c *web.Conn) (string, error) {
	token, err := credentials(c, "Bearer")
	if err != nil {
		return "", err
	}
	b.keys.refresh(c)
	return b.verify(token)
}

// verify returns the user that a token names. Its errors are the package's own, since the library's
// may contain parts of the token.
func (b *bearer) verify(token string) (string, error) {
	if len(token) > maxToken {
		return "", errToken
	}
	claims := jwt.MapClaims{}
	if _, err := b.parser.ParseWithClaims(token, claims, b.keysOf); err != nil {
		return "", verifyError(err)
	}
	// a token for another audience must be rejected (RFC 7519, section 4.1.3)
	if _, meant := claims["aud"]; meant && b.audience == "" {
		return "", errAudience
	}
	user, ok := claims[b.userClaim].(string)
	if b.userRequired && !ok {
		return "", errUser
	}
	return user, nil
}

// keysOf returns the keys that may have signed a token: the one that it names, or all if it names
// none.
func (b *bearer) keysOf(t *jwt.Token) (any, error) {
	// no extension is supported (RFC 7515, section 4.1.11)
	if _, critical := t.Header["crit"]; critical {
		return nil, errToken
	}
	id, named := t.Header["kid"].(string)
	var set jwt.VerificationKeySet
	for _, k := range b.keys.get() {
		if !named || k.id == "" || k.id == id {
			set.Keys = append(set.Keys, k.verifier)
		}
	}
	if len(set.Keys) == 0 {
		return nil, errToken
	}
	return set, nil
}

// verifyError maps the library's error to one of this package.
func verifyError(err error) error {
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
