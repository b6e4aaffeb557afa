package main

import (
	"fmt"
	"os"

	"weir/lab/workload/http/httpload"
)

// tlsFlags are the settings of TLS of a load.
type tlsFlags struct {
	Insecure    bool   `help:"TLS: accept any certificate."`
	CA          string `name:"ca" placeholder:"FILE" predictor:"file" help:"TLS: trust the certificates in this file (PEM) instead of the system's."`
	ServerName  string `placeholder:"NAME" help:"TLS: the name to ask for and to verify (default: the host of the URL)."`
	Resume      bool   `help:"TLS: resume sessions; without it every handshake is a full one."`
	KeyExchange string `placeholder:"X25519" help:"TLS: the only key exchange to offer: X25519, X25519MLKEM768, P-256, P-384 or P-521 (default: what Go prefers)."`
}

// tls returns the settings, with the content of the file of certificates.
func (f *tlsFlags) tls() (httpload.TLS, error) {
	t := httpload.TLS{Insecure: f.Insecure, ServerName: f.ServerName, Resume: f.Resume, KeyExchange: f.KeyExchange}
	if f.CA == "" {
		return t, nil
	}
	var err error
	if t.CA, err = os.ReadFile(f.CA); err != nil {
		return t, usageError{fmt.Errorf("load: cannot read the certificates to trust: %w", err)}
	}
	return t, nil
}
