package certificate

import (
	"cmp"
	"crypto/tls"
	"net"
	"slices"
	"strings"
	"time"
)

// ByName returns a source that chooses among sources by the name that the client requests (SNI), or
// by the address that it connected to if it requests none. Of several that match, it prefers a
// certificate that the client supports, then one that has not expired, then one with the name
// itself over one with a wildcard, then the first. If none matches, the first source decides.
func ByName(sources ...*Source) *Source {
	if len(sources) == 1 {
		return sources[0]
	}
	return &Source{all: sources}
}

// match is a certificate for a requested name.
type match struct {
	*tls.Certificate
	score int
}

// choose returns the certificate of the best source for a client.
func (s *Source) choose(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	var failed error
	var found []match
	name := requested(hello)
	for _, one := range s.all {
		if IsChallenge(hello) && !one.Challenged() || !one.mayHave(name) {
			continue
		}
		c, err := one.Get(hello)
		switch {
		case err != nil:
			failed = cmp.Or(failed, err)
		case IsChallenge(hello):
			return c, nil
		default:
			if m := (match{c, score(c, name, hello)}); m.score > 0 {
				found = append(found, m)
			}
		}
	}
	if len(found) > 0 {
		// of equals, MaxFunc returns the first
		return slices.MaxFunc(found, func(a, b match) int { return a.score - b.score }).Certificate, nil
	}
	if failed != nil {
		return nil, failed
	}
	return s.all[0].Get(hello)
}

// requested returns the name that a client requests, or the address that it connected to, as a
// certificate has it.
func requested(hello *tls.ClientHelloInfo) string {
	if hello.ServerName == "" && hello.Conn != nil {
		host, _, _ := net.SplitHostPort(hello.Conn.LocalAddr().String())
		return host
	}
	return strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
}

// mayHave reports whether a source may have a certificate for a name. Asking ACME for a name of
// another source would only log a failure.
func (s *Source) mayHave(name string) bool {
	return s.acme == nil || slices.ContainsFunc(s.acme.names, func(n string) bool { return strings.EqualFold(n, name) })
}

// score returns how well a certificate suits a client that requests a name; 0: not at all.
func score(c *tls.Certificate, name string, hello *tls.ClientHelloInfo) int {
	if c.Leaf == nil || name == "" || c.Leaf.VerifyHostname(name) != nil {
		return 0
	}
	n := 1
	if slices.ContainsFunc(c.Leaf.DNSNames, func(own string) bool { return strings.EqualFold(own, name) }) {
		n++
	}
	if now := time.Now(); now.Before(c.Leaf.NotAfter) && !now.Before(c.Leaf.NotBefore) {
		n += 2
	}
	if hello.SupportsCertificate(c) == nil {
		n += 4
	}
	return n
}
