package account

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/xdg-go/scram"

	"weir/chat/irc"
)

// DefaultIterations is the number of PBKDF2 iterations for a new password. RFC 7677, section 4,
// requires at least 4,096; NIST SP 800-63B (2017) recommends at least 10,000. They cost 1.4 ms of a
// server's core (BenchmarkCalls). Each PLAIN login costs the server this time: 1,000 clients that
// reconnect at once cost 1.4 s, and more on small boards. With SCRAM the client's machine does this
// work.
const DefaultIterations = 10_000

// A verifier with iterations outside of these limits is damaged. Fewer are unsafe, and more would
// block the server for too long.
const (
	minIterations = 4096
	maxIterations = 1_000_000
)

const (
	saltBytes = 16
	mechanism = "SCRAM-SHA-256"
)

// ErrPassword is wrapped by the errors of an invalid new password.
var ErrPassword = errors.New("account: invalid password")

// verifier checks a password without containing it (RFC 5802, section 3). The text form is that of
// RFC 5803 as PostgreSQL writes it.
type verifier struct{ scram.StoredCredentials }

// noVerifier replaces the verifier of an account without a password.
const noVerifier = "-"

var errVerifier = errors.New("the verifier is damaged, want SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY")

func parseVerifier(text string) (v verifier, err error) {
	parts := strings.FieldsFunc(text, func(c rune) bool { return c == '$' || c == ':' })
	if len(parts) != 5 || text != fmt.Sprintf("%s$%s:%s$%s:%s", mechanism, parts[1], parts[2], parts[3], parts[4]) {
		return v, errVerifier
	}
	if v.Iters, err = strconv.Atoi(parts[1]); err != nil || v.Iters < minIterations || v.Iters > maxIterations {
		return v, fmt.Errorf("the verifier is damaged: it wants %d to %d iterations", minIterations, maxIterations)
	}
	salt, err1 := base64.StdEncoding.Strict().DecodeString(parts[2])
	stored, err2 := base64.StdEncoding.Strict().DecodeString(parts[3])
	server, err3 := base64.StdEncoding.Strict().DecodeString(parts[4])
	if errors.Join(err1, err2, err3) != nil || len(salt) < 8 || len(salt) > 64 || len(stored) != sha256.Size || len(server) != sha256.Size {
		return v, errVerifier
	}
	v.Salt, v.StoredKey, v.ServerKey = string(salt), stored, server
	return v, nil
}

func (v verifier) String() string {
	b := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("%s$%d:%s$%s:%s", mechanism, v.Iters, b([]byte(v.Salt)), b(v.StoredKey), b(v.ServerKey))
}

// CheckPassword returns an error if a new password is not acceptable. It is fast.
func CheckPassword(password string) error {
	if len(password) > MaxPassword {
		return fmt.Errorf("%w: it has more than %d bytes", ErrPassword, MaxPassword)
	}
	if n := utf8.RuneCountInString(password); n < MinPassword {
		return fmt.Errorf("%w: it has %d characters, want at least %d", ErrPassword, n, MinPassword)
	}
	if _, err := newSCRAMClient(password); err != nil {
		return fmt.Errorf("%w: it contains a character that SASLprep prohibits, such as an emoji or a control character", ErrPassword)
	}
	return nil
}

// newSCRAMClient returns a SCRAM client that has the password after SASLprep. Its error does not
// contain the password.
func newSCRAMClient(password string) (*scram.Client, error) {
	if !utf8.ValidString(password) {
		return nil, errors.New("not UTF-8")
	}
	return scram.SHA256.NewClient("", password, "")
}

// newVerifier creates the verifier of a new password with a random salt. It is slow: one PBKDF2.
func newVerifier(password string, iterations int) (verifier, error) {
	if err := CheckPassword(password); err != nil {
		return verifier{}, err
	}
	client, err := newSCRAMClient(password)
	if err != nil {
		return verifier{}, err
	}
	salt := make([]byte, saltBytes)
	rand.Read(salt)
	c, err := client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: string(salt), Iters: iterations})
	return verifier{c}, err
}

// proves reports whether the client has the verifier's password. It always costs one PBKDF2.
func (v verifier) proves(client *scram.Client) bool {
	c, err := client.GetStoredCredentialsWithError(v.KeyFactors)
	return err == nil && hmac.Equal(c.StoredKey, v.StoredKey)
}

// decoyVerifier returns the verifier of an unknown name. It matches no password. It is always the
// same for a name, so that a second request reveals nothing. Servers that share a data directory
// derive the same salt.
func decoyVerifier(secret []byte, name string, iterations int) verifier {
	of := func(text string) []byte {
		h := hmac.New(sha256.New, secret)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	return verifier{scram.StoredCredentials{
		KeyFactors: scram.KeyFactors{Salt: string(of(irc.Fold(name))[:saltBytes]), Iters: iterations},
		StoredKey:  of("stored key, which no name is"), ServerKey: of("server key, which no name is"),
	}}
}
