package auth

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"

	"github.com/golang-jwt/jwt/v5"
)

// key is a key that verifies tokens.
type key struct {
	id       string              // kid; "" matches any token
	verifier jwt.VerificationKey // a public key, or the secret of HS256
}

// keyReaders parse the key file of each algorithm. Each returns keys of the algorithm's own type,
// so that no key is used for another algorithm.
var keyReaders = map[string]func([]byte) ([]key, error){
	"HS256": parseSecret,
	"RS256": parsePublicKeys("RS256", checkRSA),
	"ES256": parsePublicKeys("ES256", checkP256),
	"EdDSA": parsePublicKeys("EdDSA", checkEd25519),
}

// parseSecret parses the secret of HS256, which has at least as many bytes as the digest (RFC 7518,
// section 3.2).
func parseSecret(text []byte) ([]key, error) {
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	switch {
	case bytes.Contains(text, []byte("-----BEGIN ")):
		return nil, errors.New("the file has a key in PEM, which may be public: HS256 needs a secret")
	case len(text) < 32:
		return nil, fmt.Errorf("the secret has %d bytes: HS256 needs at least 32 (openssl rand -hex 32)", len(text))
	}
	return []key{{verifier: bytes.Clone(text)}}, nil
}

// parsePublicKeys returns a parser of public keys, in PEM or as a JSON Web Key Set, that keeps
// those for which check returns nil: keys of the algorithm, of a safe size.
func parsePublicKeys(algorithm string, check func(crypto.PublicKey) error) func([]byte) ([]key, error) {
	return func(text []byte) ([]key, error) {
		if text = bytes.TrimSpace(text); bytes.HasPrefix(text, []byte("{")) {
			return parseKeySet(text, algorithm, check)
		}
		public, err := parsePEM(text)
		if err == nil {
			err = check(public)
		}
		if err != nil {
			return nil, err
		}
		return []key{{verifier: public}}, nil
	}
}

func parsePEM(text []byte) (crypto.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the file has neither PEM nor a JSON Web Key Set")
	}
	if block.Type != "PUBLIC KEY" {
		return nil, fmt.Errorf("the file has a %.40q: it needs a PUBLIC KEY, as printed by openssl pkey -pubout", block.Type)
	}
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, errors.New("the PUBLIC KEY cannot be parsed")
	}
	return public, nil
}

func checkRSA(k crypto.PublicKey) error {
	if r, ok := k.(*rsa.PublicKey); !ok || r.N.BitLen() < 2048 || r.N.BitLen() > 8192 {
		return errors.New("RS256 needs an RSA key of 2,048 to 8,192 bits")
	}
	return nil
}

func checkP256(k crypto.PublicKey) error {
	if e, ok := k.(*ecdsa.PublicKey); !ok || e.Curve != elliptic.P256() {
		return errors.New("ES256 needs a key on the curve P-256")
	}
	return nil
}

func checkEd25519(k crypto.PublicKey) error {
	if _, ok := k.(ed25519.PublicKey); !ok {
		return errors.New("EdDSA needs an Ed25519 key")
	}
	return nil
}

// webKey is a JSON Web Key (RFC 7517, section 4; RFC 7518, section 6; RFC 8037, section 2).
type webKey struct {
	Kty, Use, Alg, Kid, Crv string
	N, E, X, Y              unpadded
}

// unpadded is bytes in base64url without padding (RFC 7515, section 2).
type unpadded []byte

// UnmarshalText implements [encoding.TextUnmarshaler].
func (u *unpadded) UnmarshalText(text []byte) (err error) {
	*u, err = base64.RawURLEncoding.DecodeString(string(text))
	return err
}

// parseKeySet parses a JSON Web Key Set. It skips keys for other uses (RFC 7517, section 5).
func parseKeySet(text []byte, algorithm string, check func(crypto.PublicKey) error) ([]key, error) {
	var set struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, errors.New("the file is not a JSON Web Key Set")
	}
	var keys []key
	for _, raw := range set.Keys {
		var k webKey
		if json.Unmarshal(raw, &k) != nil || k.Use != "" && k.Use != "sig" || k.Alg != "" && k.Alg != algorithm {
			continue
		}
		if public := k.public(); public != nil && check(public) == nil {
			keys = append(keys, key{k.Kid, public})
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("the JSON Web Key Set has no key for %s", algorithm)
	}
	return keys, nil
}

// public returns the key, or nil if its type is not supported.
func (k webKey) public() crypto.PublicKey {
	switch {
	case k.Kty == "RSA":
		e := new(big.Int).SetBytes(k.E)
		if e.BitLen() < 2 || e.BitLen() > 31 || e.Bit(0) == 0 {
			return nil
		}
		return &rsa.PublicKey{N: new(big.Int).SetBytes(k.N), E: int(e.Int64())}
	case k.Kty == "EC" && k.Crv == "P-256" && len(k.X) == 32 && len(k.Y) == 32:
		point := append(append([]byte{4}, k.X...), k.Y...)
		public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
		if err != nil {
			return nil
		}
		return public
	case k.Kty == "OKP" && k.Crv == "Ed25519" && len(k.X) == ed25519.PublicKeySize:
		return ed25519.PublicKey(k.X)
	}
	return nil
}
