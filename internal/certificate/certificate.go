// Package certificate is where the TLS certificates of servers come from: files, which are read
// again when they change, an authority that is asked by ACME, or a certificate that the server
// makes for itself.
//
// # Limitations
//
// A source of files has one certificate, whatever name a client asks for. Files are looked at when
// a client connects, so a change is noticed no sooner.
package certificate

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"os"
	"sync"
	"time"
)

// Source gives the certificate that a server shows. Its methods may be called from any goroutine.
type Source struct {
	pair *pair
	acme *manager // nil: files
}

// Files is a source of PEM files, which are looked at again when a client connects, at most once a
// second. A pair that cannot be loaded leaves the one before in use, and is reported once to logf,
// which is not nil.
func Files(certFile, keyFile string, logf func(format string, args ...any)) (*Source, error) {
	p := &pair{certFile: certFile, keyFile: keyFile, logf: logf}
	if err := p.load(); err != nil {
		return nil, err
	}
	return &Source{pair: p}, nil
}

// Get is tls.Config's GetCertificate.
func (s *Source) Get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if s.acme != nil {
		return s.acme.magic.GetCertificate(hello)
	}
	return s.pair.get()
}

// Reload reads files now, changed or not. The error says why the certificate before stays in use.
// ACME needs none.
func (s *Source) Reload() error {
	if s.pair == nil {
		return nil
	}
	s.pair.mu.Lock()
	defer s.pair.mu.Unlock()
	s.pair.version = ""
	return s.pair.load()
}

// Challenged says whether ACME's challenges are to be answered: whether Challenge is one of the
// server's protocols.
func (s *Source) Challenged() bool { return s.acme != nil }

// Manage begins to obtain and renew what ACME has to, in the background until ctx ends.
func (s *Source) Manage(ctx context.Context) {
	if s.acme != nil {
		s.acme.magic.ManageAsync(ctx, s.acme.names)
	}
}

// Close ends the source, behind the end of Manage's ctx. It may be called more than once.
func (s *Source) Close() {
	if s.acme != nil {
		s.acme.ended.Do(s.acme.cache.Stop)
	}
}

// Fingerprint is what people compare, and clients pin: SHA-256 of a certificate as DER, 64 hex
// digits.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// pair is a certificate and its key in files.
type pair struct {
	certFile, keyFile string
	logf              func(string, ...any)

	mu      sync.Mutex // guards what follows
	looked  time.Time
	version string // of the files, as last tried
	loaded  *tls.Certificate
}

func (p *pair) get() (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.looked) >= time.Second {
		if err := p.load(); err != nil {
			p.logf("the certificate before stays in use: %v", err)
		}
	}
	return p.loaded, nil
}

// load reads the files if they changed since the last try. mu is held, or nobody else has p yet.
func (p *pair) load() error {
	p.looked = time.Now()
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

// stamp tells versions of a file apart.
func stamp(name string) string {
	info, err := os.Stat(name)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size(), ";")
}
