package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"weir/web/internal/webtest"
)

const secret = "open sesame, said Ali Baba to the rock"

// issuer has a key of each kind.
var issuer = sync.OnceValue(func() (k struct {
	rsa     *rsa.PrivateKey
	p256    *ecdsa.PrivateKey
	ed25519 ed25519.PrivateKey
}) {
	k.rsa, _ = rsa.GenerateKey(rand.Reader, 2048)
	k.p256, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, k.ed25519, _ = ed25519.GenerateKey(rand.Reader)
	return k
})

func pemOf(t testing.TB, public crypto.PublicKey) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// claimsOf are good claims with changes: nil takes one out.
func claimsOf(changes jwt.MapClaims) jwt.MapClaims {
	c := jwt.MapClaims{"sub": "ann", "iss": "https://issuer.example", "aud": "weir", "exp": time.Now().Add(time.Hour).Unix()}
	for name, v := range changes {
		c[name] = v
		if v == nil {
			delete(c, name)
		}
	}
	return c
}

func signed(t testing.TB, m jwt.SigningMethod, key any, claims jwt.MapClaims, header ...string) string {
	t.Helper()
	token := jwt.NewWithClaims(m, claims)
	for i := 0; i < len(header); i += 2 {
		token.Header[header[i]] = header[i+1]
	}
	s, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// verifier is the component's verification under a configuration.
func verifier(t testing.TB, cfg BearerConfig) *bearer {
	t.Helper()
	keys, err := watchFile(cfg.Key, nil, keyReaders[cfg.Algorithm])
	if err != nil {
		t.Fatal(err)
	}
	user := cfg.User
	if user == "" {
		user = "sub"
	}
	return &bearer{keys: keys, audience: cfg.Audience, userClaim: user, userRequired: cfg.User != "", parser: parser(cfg, 0)}
}

func TestBearerAdmitsValidTokens(t *testing.T) {
	c, err := Bearer(BearerConfig{Algorithm: "HS256", Key: written(t, secret+"\n"), Audience: "weir", Issuer: "https://issuer.example"}, showUser("inside"))
	if err != nil {
		t.Fatal(err)
	}
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		good := signed(t, jwt.SigningMethodHS256, []byte(secret), claimsOf(nil))
		if resp, body := asked(t, url, "Bearer "+good); body != `inside "ann"` {
			t.Errorf("a valid token: got %d %q, want the protected part as ann", resp.StatusCode, body)
		}
		for authorization, challenge := range map[string]string{
			"":                         `Bearer realm="private"`,
			"Bearer " + good + "x":     `Bearer realm="private", error="invalid_token"`,
			"Basic YW5uOnNlc2FtZQ==":   `Bearer realm="private", error="invalid_token"`,
			"Bearer":                   `Bearer realm="private", error="invalid_token"`,
			"Bearer " + good + " more": `Bearer realm="private", error="invalid_token"`,
		} {
			var fields []string
			if authorization != "" {
				fields = []string{authorization}
			}
			resp, _ := asked(t, url, fields...)
			if got := resp.Header.Get("WWW-Authenticate"); resp.StatusCode != 401 || got != challenge {
				t.Errorf("%.12q: %d %q, want 401 %q", authorization, resp.StatusCode, got, challenge)
			}
		}
	})
}

func TestClaims(t *testing.T) {
	hour := func(h int) int64 { return time.Now().Add(time.Duration(h) * time.Hour).Unix() }
	file := written(t, secret)
	for _, c := range []struct {
		about   string
		cfg     BearerConfig
		changes jwt.MapClaims
		user    string
		want    error
	}{
		{"all as it should be", BearerConfig{Audience: "weir", Issuer: "https://issuer.example"}, nil, "ann", nil},
		{"expired", BearerConfig{Audience: "weir"}, jwt.MapClaims{"exp": hour(-1)}, "", errExpired},
		{"never expires", BearerConfig{Audience: "weir"}, jwt.MapClaims{"exp": nil}, "", errExpired},
		{"not yet", BearerConfig{Audience: "weir"}, jwt.MapClaims{"nbf": hour(1)}, "", errEarly},
		{"issued tomorrow", BearerConfig{Audience: "weir"}, jwt.MapClaims{"iat": hour(24)}, "", errEarly},
		{"valid since an hour", BearerConfig{Audience: "weir"}, jwt.MapClaims{"nbf": hour(-1), "iat": hour(-1)}, "ann", nil},
		{"for others", BearerConfig{Audience: "weir"}, jwt.MapClaims{"aud": "dam"}, "", errAudience},
		{"for others and us", BearerConfig{Audience: "weir"}, jwt.MapClaims{"aud": []string{"dam", "weir"}}, "ann", nil},
		{"without an audience", BearerConfig{Audience: "weir"}, jwt.MapClaims{"aud": nil}, "", errExpired},
		{"with an audience, none configured", BearerConfig{}, nil, "", errAudience},
		{"without an audience, none configured", BearerConfig{}, jwt.MapClaims{"aud": nil}, "ann", nil},
		{"an audience that is none", BearerConfig{}, jwt.MapClaims{"aud": 7}, "", errAudience},
		{"of another issuer", BearerConfig{Audience: "weir", Issuer: "https://other.example"}, nil, "", errIssuer},
		{"of no issuer", BearerConfig{Audience: "weir", Issuer: "x"}, jwt.MapClaims{"iss": nil}, "", errExpired},
		{"no name", BearerConfig{Audience: "weir"}, jwt.MapClaims{"sub": nil}, "", nil},
		{"another claim for the name", BearerConfig{Audience: "weir", User: "email"}, jwt.MapClaims{"email": "ann@b.example"}, "ann@b.example", nil},
		{"the claim for the name is not there", BearerConfig{Audience: "weir", User: "email"}, nil, "", errUser},
		{"the claim for the name is no text", BearerConfig{Audience: "weir", User: "email"}, jwt.MapClaims{"email": []string{"ann"}}, "", errUser},
		{"times that are none", BearerConfig{Audience: "weir"}, jwt.MapClaims{"exp": "soon"}, "", errToken},
	} {
		c.cfg.Algorithm, c.cfg.Key = "HS256", file
		user, err := verifier(t, c.cfg).verify(signed(t, jwt.SigningMethodHS256, []byte(secret), claimsOf(c.changes)))
		if user != c.user || err != c.want {
			t.Errorf("%s: got %q %v, want %q %v", c.about, user, err, c.user, c.want)
		}
	}
}

// Some libraries have accepted tokens of these forms.
func TestForgedTokensAreRejected(t *testing.T) {
	k := issuer()
	rsaPEM := pemOf(t, &k.rsa.PublicKey)
	claims := claimsOf(jwt.MapClaims{"aud": nil})
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	good := signed(t, jwt.SigningMethodRS256, k.rsa, claims)
	parts := strings.Split(good, ".")
	encode := base64.RawURLEncoding.EncodeToString
	none := signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims)
	for _, c := range []struct {
		about, algorithm, key, token string
		good                         bool
	}{
		{"as it should be", "RS256", rsaPEM, good, true},
		{"alg none", "RS256", rsaPEM, none, false},
		{"alg none, spelt otherwise", "RS256", rsaPEM, encode([]byte(`{"alg":"nOnE"}`)) + "." + parts[1] + ".", false},
		{"alg none with a signature of another token", "RS256", rsaPEM, strings.TrimSuffix(none, ".") + "." + parts[2], false},
		{"alg none where a secret is expected", "HS256", secret, none, false},
		{"HS256 with the public key's PEM for a secret", "RS256", rsaPEM, signed(t, jwt.SigningMethodHS256, []byte(rsaPEM), claims), false},
		{"HS256 with the modulus for a secret", "RS256", rsaPEM, signed(t, jwt.SigningMethodHS256, k.rsa.N.Bytes(), claims), false},
		{"RS512 by the right key", "RS256", rsaPEM, signed(t, jwt.SigningMethodRS512, k.rsa, claims), false},
		{"PS256 by the right key", "RS256", rsaPEM, signed(t, jwt.SigningMethodPS256, k.rsa, claims), false},
		{"another key", "RS256", rsaPEM, signed(t, jwt.SigningMethodRS256, other, claims), false},
		{"another key, in its own head", "RS256", rsaPEM, signed(t, jwt.SigningMethodRS256, other, claims, "jwk", "{}", "jku", "https://evil.example/"), false},
		{"HS512 by the right secret", "HS256", secret, signed(t, jwt.SigningMethodHS512, []byte(secret), claims), false},
		{"an extension that we do not know", "RS256", rsaPEM, signed(t, jwt.SigningMethodRS256, k.rsa, claims, "crit", "b64"), false},
		{"no signature", "RS256", rsaPEM, parts[0] + "." + parts[1] + ".", false},
		{"other claims", "RS256", rsaPEM, parts[0] + "." + encode([]byte(`{"sub":"root","exp":99999999999}`)) + "." + parts[2], false},
		{"two parts", "RS256", rsaPEM, parts[0] + "." + parts[1], false},
		{"four parts", "RS256", rsaPEM, good + "." + parts[2], false},
		{"padding", "RS256", rsaPEM, good + "==", false},
		{"too long", "RS256", rsaPEM, good + strings.Repeat("x", maxToken), false},
		{"ES256 by its key", "ES256", pemOf(t, &k.p256.PublicKey), signed(t, jwt.SigningMethodES256, k.p256, claims), true},
		{"ES256 of zeros", "ES256", pemOf(t, &k.p256.PublicKey), encode([]byte(`{"alg":"ES256"}`)) + "." + parts[1] + "." + encode(make([]byte, 64)), false},
		{"EdDSA by its key", "EdDSA", pemOf(t, k.ed25519.Public()), signed(t, jwt.SigningMethodEdDSA, k.ed25519, claims), true},
		{"EdDSA where ES256 is expected", "ES256", pemOf(t, &k.p256.PublicKey), signed(t, jwt.SigningMethodEdDSA, k.ed25519, claims), false},
		{"HS256 by the secret", "HS256", secret, signed(t, jwt.SigningMethodHS256, []byte(secret), claims), true},
	} {
		user, err := verifier(t, BearerConfig{Algorithm: c.algorithm, Key: written(t, c.key)}).verify(c.token)
		if (err == nil) != c.good || c.good && user != "ann" {
			t.Errorf("%s: got %q %v, want it taken: %v", c.about, user, err, c.good)
		}
		if !c.good && err != errToken {
			t.Errorf("%s: got %v, want the package's own error", c.about, err)
		}
	}
}

// jwks is a JSON Web Key Set of the issuer's keys, and of some that are not for this.
func jwks(t testing.TB) string {
	t.Helper()
	k := issuer()
	encode := base64.RawURLEncoding.EncodeToString
	x, y := k.p256.X.FillBytes(make([]byte, 32)), k.p256.Y.FillBytes(make([]byte, 32))
	rsaKey := map[string]string{"kty": "RSA", "kid": "r", "n": encode(k.rsa.N.Bytes()), "e": encode(big.NewInt(int64(k.rsa.E)).Bytes())}
	text, err := json.Marshal(map[string]any{"keys": []any{
		map[string]any{"kty": "oct", "k": "AAAA"}, map[string]any{"kty": 7}, "rubbish",
		map[string]string{"kty": "RSA", "kid": "enc", "use": "enc", "n": rsaKey["n"], "e": rsaKey["e"]},
		map[string]string{"kty": "RSA", "kid": "short", "n": "AQAB", "e": "AQAB"},
		map[string]string{"kty": "RSA", "kid": "e=1", "n": rsaKey["n"], "e": "AQ"},
		rsaKey,
		map[string]string{"kty": "EC", "crv": "P-256", "kid": "e", "alg": "ES256", "x": encode(x), "y": encode(y)},
		map[string]string{"kty": "EC", "crv": "P-256", "kid": "off the curve", "x": encode(x), "y": encode(x)},
		map[string]string{"kty": "OKP", "crv": "Ed25519", "kid": "o", "use": "sig", "x": encode(k.ed25519.Public().(ed25519.PublicKey))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTokenIsVerifiedWithTheKeyThatItNames(t *testing.T) {
	k, file, claims := issuer(), written(t, jwks(t)), claimsOf(jwt.MapClaims{"aud": nil})
	for _, c := range []struct {
		algorithm string
		method    jwt.SigningMethod
		key       any
		kid       string
		want      error
	}{
		{"RS256", jwt.SigningMethodRS256, k.rsa, "r", nil},
		{"RS256", jwt.SigningMethodRS256, k.rsa, "", nil},
		{"RS256", jwt.SigningMethodRS256, k.rsa, "enc", errToken},
		{"RS256", jwt.SigningMethodRS256, k.rsa, "no such", errToken},
		{"ES256", jwt.SigningMethodES256, k.p256, "e", nil},
		{"ES256", jwt.SigningMethodES256, k.p256, "r", errToken},
		{"EdDSA", jwt.SigningMethodEdDSA, k.ed25519, "o", nil},
		{"EdDSA", jwt.SigningMethodRS256, k.rsa, "r", errToken},
	} {
		var header []string
		if c.kid != "" {
			header = []string{"kid", c.kid}
		}
		b := verifier(t, BearerConfig{Algorithm: c.algorithm, Key: file})
		if n := len(b.keys.get()); n != 1 {
			t.Errorf("%s: %d keys are good for it, want 1", c.algorithm, n)
		}
		if _, err := b.verify(signed(t, c.method, c.key, claims, header...)); err != c.want {
			t.Errorf("%s, kid %q: %v, want %v", c.algorithm, c.kid, err, c.want)
		}
	}
}

func TestBearerIsRefused(t *testing.T) {
	k := issuer()
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k.ed25519)
	if err != nil {
		t.Fatal(err)
	}
	privatePEM := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	for _, c := range []struct {
		algorithm, key, leeway, says string
	}{
		{"", "", "", "choose HS256, RS256"},
		{"none", secret, "", "choose HS256, RS256"},
		{"HS256", "", "", "key is not set"},
		{"HS256", "sesame", "", "at least 32"},
		{"HS256", pemOf(t, &k.rsa.PublicKey), "", "HS256 needs a secret"},
		{"RS256", pemOf(t, &k.p256.PublicKey), "", "RS256 needs an RSA key"},
		{"RS256", pemOf(t, &short.PublicKey), "", "2,048 to 8,192 bits"},
		{"ES256", pemOf(t, &k.rsa.PublicKey), "", "ES256 needs a key on the curve P-256"},
		{"EdDSA", pemOf(t, &k.rsa.PublicKey), "", "EdDSA needs an Ed25519 key"},
		{"EdDSA", privatePEM, "", "it needs a PUBLIC KEY"},
		{"EdDSA", secret, "", "neither PEM nor"},
		{"EdDSA", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "", "cannot be parsed"},
		{"RS256", `{"keys":[]}`, "", "no key for RS256"},
		{"RS256", `{"keys":`, "", "not a JSON Web Key Set"},
		{"HS256", secret, "1h", "leeway"},
		{"HS256", secret, "-1s", "leeway"},
	} {
		file := ""
		if c.key != "" {
			file = written(t, c.key)
		}
		_, err := Bearer(BearerConfig{Algorithm: c.algorithm, Key: file, Leeway: c.leeway}, nil)
		says(t, err, c.says)
	}
}

// The race detector reports an unsynchronized access.
func TestVerifyIsSafeForConcurrentUse(t *testing.T) {
	b := verifier(t, BearerConfig{Algorithm: "HS256", Key: written(t, secret)})
	token := signed(t, jwt.SigningMethodHS256, []byte(secret), claimsOf(jwt.MapClaims{"aud": nil}))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := b.verify(token); err != nil {
				t.Errorf("a valid token: got %v, want its user", err)
			}
		})
	}
	all.Wait()
}

func FuzzKeySet(f *testing.F) {
	f.Add([]byte(jwks(f)))
	f.Fuzz(func(t *testing.T, text []byte) {
		for algorithm, read := range keyReaders {
			keys, err := read(text)
			if err == nil && len(keys) == 0 {
				t.Errorf("%s: got no key and no error, want one of both", algorithm)
			}
		}
	})
}

func FuzzToken(f *testing.F) {
	b := verifier(f, BearerConfig{Algorithm: "HS256", Key: written(f, secret)})
	f.Add(signed(f, jwt.SigningMethodHS256, []byte(secret), claimsOf(jwt.MapClaims{"aud": nil})))
	f.Fuzz(func(t *testing.T, token string) {
		if user, err := b.verify(token); err == nil && user != "ann" {
			t.Errorf("token %q: got the user %q, want an error: ann's key did not sign it", token, user)
		}
	})
}
