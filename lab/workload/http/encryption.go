package http

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"

	"weir/lab/contract"
	"weir/lab/internal/certificate"
	"weir/lab/internal/tlsclient"
	"weir/lab/subject"
	"weir/lab/workload"
)

// Encryption is the TLS of a load. A subject whose command has {cert} gets the lab's certificate,
// which the generator trusts. Any other has its own.
type Encryption struct {
	// messages by TLS; a server that runs already is met by TLS if its address says so
	TLS      bool `toml:"tls"`
	Insecure bool `toml:"insecure"` // accept any certificate of the subject's own
	// file of the certificates to trust instead of the system's, in PEM
	CA string `toml:"ca"`
	// name to ask for and to verify; empty: the host of the address
	ServerName string `toml:"server_name"`
}

// Check makes the name of the file absolute, because a run may be resumed from another folder. It
// returns what is wrong; empty if nothing is.
func (e *Encryption) Check() string {
	if e.CA == "" {
		return ""
	}
	if e.Insecure {
		return "insecure accepts any certificate and ca only trusted ones: give one of them"
	}
	file, err := filepath.Abs(e.CA)
	if err != nil {
		return err.Error()
	}
	e.CA = file
	return ""
}

// readCA returns the certificates to trust; nil for those of the system.
func (e *Encryption) readCA() ([]byte, error) {
	if e.CA == "" {
		return nil, nil
	}
	text, err := os.ReadFile(e.CA)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read the certificates to trust: %w", err)
	case !x509.NewCertPool().AppendCertsFromPEM(text):
		return nil, fmt.Errorf("%s has no certificate in PEM: give a file that starts with -----BEGIN CERTIFICATE-----", e.CA)
	}
	return text, nil
}

// Meets reports whether a subject can meet the load.
func (e *Encryption) Meets(s *subject.Subject, elsewhere bool) bool {
	switch {
	case elsewhere:
		return s.OwnTLS || !e.TLS
	case !e.TLS:
		return true
	}
	return s.ServesTLS() || e.trustsOthers()
}

// Needs returns the phrase for the subjects that can meet the load.
func (e *Encryption) Needs() string {
	if e.trustsOthers() {
		return "servers by TLS"
	}
	return "subjects with {cert}, or with insecure or ca for subjects with a certificate of their own"
}

// trustsOthers reports whether other certificates than the lab's are trusted.
func (e *Encryption) trustsOthers() bool { return e.Insecure || e.CA != "" }

// Uses reports whether a subject is met by TLS.
func (e *Encryption) Uses(to workload.Target) bool { return e.TLS && !to.Elsewhere || to.TLS }

// Args returns the flags of weir load for a subject that is met by TLS. The key exchange is the
// same for all, so that they do the same work.
func (e *Encryption) Args(lab certificate.Files, to workload.Target) (args []string) {
	switch {
	case !to.OwnCertificate && !to.Elsewhere:
		return []string{"--ca", lab.Cert, "--key-exchange", keyExchange}
	case e.Insecure:
		args = append(args, "--insecure")
	case e.CA != "":
		args = append(args, "--ca", e.CA)
	}
	if e.ServerName != "" {
		args = append(args, "--server-name", e.ServerName)
	}
	return append(args, "--key-exchange", keyExchange)
}

// Client returns the settings of a client, which trusts the lab's certificate if it is given.
func (e *Encryption) Client(lab string) (s tlsclient.Settings, err error) {
	s.KeyExchange = keyExchange
	if lab != "" {
		s.CA, err = os.ReadFile(lab)
		return s, err
	}
	s.Insecure, s.ServerName = e.Insecure, e.ServerName
	s.CA, err = e.readCA()
	return s, err
}

// ClientConfig returns the settings of a client of a server under a check, for an application
// protocol (ALPN). It may be called only within a check.
func (e *Encryption) ClientConfig(b *contract.Bench, protocol string) *tls.Config {
	settings, err := e.Client(b.Params.Cert)
	contract.Must(err)
	return settings.Config(b.Params.Host, protocol)
}

// Prepare makes a certificate for a server under a check that takes one, if the load needs it.
func (e *Encryption) Prepare(b *contract.Bench) {
	if e.TLS && b.Subject.ServesTLS() {
		addCertificate(b)
	}
}

// MakeCertificate creates the certificate of a run if one of its loads uses TLS. The certificates
// that loads trust must be readable.
func MakeCertificate(s *workload.Site, loads []*Encryption) (files certificate.Files, err error) {
	needed := false
	for _, e := range loads {
		if _, err := e.readCA(); err != nil {
			return files, fmt.Errorf("lab: %w", err)
		}
		needed = needed || e.TLS
	}
	if !needed {
		return files, nil
	}
	dir, err := filepath.Abs(filepath.Join(s.Dir, tlsDir))
	if err == nil {
		files, err = certificate.Create(dir, s.Host)
	}
	if err != nil {
		return files, fmt.Errorf("lab: %w", err)
	}
	return files, nil
}
