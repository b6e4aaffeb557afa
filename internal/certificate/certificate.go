// Package certificate provides the TLS certificates of servers. They come from files that are read
// again when they change, from an ACME certificate authority, from an authority of the machine for
// local names, or are self-signed by the server. [ByName] chooses among several.
//
// # Limitations
//
// A source of files has one certificate. Files are checked when a client connects, so a change
// takes effect no earlier.
package certificate

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// Source provides the certificate of a server. Its methods may be called from any goroutine.
type Source struct { // one field is set
	pair  *pair
	acme  *manager
	local *local
	all   []*Source // of ByName
}

// Files returns a source of PEM files, which are checked for changes when a client connects, at
// most once a second. If a pair cannot be loaded, the previous one stays in use, and logf, which
// must not be nil, gets one line.
func Files(certFile, keyFile string, logf func(format string, args ...any)) (*Source, error) {
	p := &pair{certFile: certFile, keyFile: keyFile, logf: logf}
	if err := p.loadLocked(); err != nil {
		return nil, err
	}
	p.warnLocked()
	return &Source{pair: p}, nil
}

// Get is for tls.Config.GetCertificate.
func (s *Source) Get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	switch {
	case s.acme != nil:
		return s.acme.magic.GetCertificate(hello)
	case s.local != nil:
		return s.local.get(), nil
	case s.all != nil:
		return s.choose(hello)
	}
	return s.pair.get()
}

// Reload reads the files now, changed or not. The error says why the previous certificate stays in
// use. ACME and Local need no reload.
func (s *Source) Reload() error {
	var errs []error
	for _, one := range s.all {
		errs = append(errs, one.Reload())
	}
	if s.pair == nil {
		return errors.Join(errs...)
	}
	s.pair.mu.Lock()
	defer s.pair.mu.Unlock()
	s.pair.version = ""
	return s.pair.loadLocked()
}

// Challenged reports whether the server must offer Challenge as a protocol, because ACME's
// challenges are answered.
func (s *Source) Challenged() bool {
	return s.acme != nil || slices.ContainsFunc(s.all, (*Source).Challenged)
}

// Manage starts to obtain and renew the certificates of ACME, in the background until ctx ends.
func (s *Source) Manage(ctx context.Context) {
	if s.acme != nil {
		s.acme.magic.ManageAsync(ctx, s.acme.names)
	}
	for _, one := range s.all {
		one.Manage(ctx)
	}
}

// Close ends the source, after the end of Manage's ctx. It may be called more than once.
func (s *Source) Close() {
	if s.acme != nil {
		s.acme.ended.Do(s.acme.cache.Stop)
	}
	for _, one := range s.all {
		one.Close()
	}
}

// Fingerprint returns the SHA-256 of a certificate as DER in 64 hex digits, which people compare
// and clients pin.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// pair is a certificate and its key in files.
type pair struct {
	certFile, keyFile string
	logf              func(string, ...any)

	mu        sync.Mutex // guards the fields below
	checkedAt time.Time
	version   string // of the files, at the last attempt to load them
	loaded    *tls.Certificate
	warned    *tls.Certificate // the last one of which logf got a warning
}

func (p *pair) get() (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.checkedAt) >= time.Second {
		if err := p.loadLocked(); err != nil {
			p.logf("the previous certificate stays in use: %v", err)
		}
		p.warnLocked()
	}
	return p.loaded, nil
}

// warnLocked reports once that the certificate has expired, or is not valid for another reason. The
// caller holds mu, or is the only one to have p.
func (p *pair) warnLocked() {
	if problem := problemOf(p.loaded.Leaf, time.Now()); problem != "" && p.warned != p.loaded {
		p.warned = p.loaded
		p.logf("the certificate %s %s", p.certFile, problem)
	}
}

// problemOf returns why clients will reject a certificate, and what to do; empty: no reason is
// known.
func problemOf(leaf *x509.Certificate, now time.Time) string {
	switch {
	case leaf == nil:
		return ""
	case now.After(leaf.NotAfter):
		return fmt.Sprintf("expired on %s, so clients reject it: renew it", leaf.NotAfter.Format(time.DateOnly))
	case now.Before(leaf.NotBefore):
		return fmt.Sprintf("is valid from %s on, so clients reject it: check the clock of this machine", leaf.NotBefore.Format(time.DateOnly))
	case len(leaf.DNSNames) == 0 && len(leaf.IPAddresses) == 0:
		return "has no subject alternative name, so clients reject it: get one for the names of the server"
	}
	return ""
}

// CheckFiles reads a certificate and its key. problem is why clients will reject the certificate,
// empty if no reason is known.
func CheckFiles(certFile, keyFile string) (problem string, err error) {
	p := &pair{certFile: certFile, keyFile: keyFile, logf: func(format string, args ...any) { problem = fmt.Sprintf(format, args...) }}
	if err := p.loadLocked(); err != nil {
		return "", err
	}
	p.warnLocked()
	return problem, nil
}

// loadLocked reads the files if they changed since the last attempt. The caller holds mu, or is the
// only one to have p.
func (p *pair) loadLocked() error {
	p.checkedAt = time.Now()
	version := stamp(p.certFile) + stamp(p.keyFile)
	if version == p.version {
		return nil
	}
	p.version = version
	c, err := tls.LoadX509KeyPair(p.certFile, p.keyFile)
	if err != nil {
		return fmt.Errorf("cannot use the certificate %s with the key %s: %w", p.certFile, p.keyFile, err)
	}
	p.loaded = &c
	return nil
}

// stamp identifies the version of a file by its time and size.
func stamp(name string) string {
	info, err := os.Stat(name)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size(), ";")
}
