package site

import (
	"errors"
	"fmt"

	"weir/internal/certificate"
)

// TLS is a block tls of a server: a certificate from files, by ACME (RFC 8555) from a certificate
// authority, or self-signed.
type TLS struct {
	// Cert is a PEM file of certificates, the server's own first. When it changes, it is read again
	// within a second. Empty: ACME or SelfSigned is used.
	Cert string `hcl:"cert,optional"`
	// Key is a PEM file with the private key of Cert. Empty: ACME or SelfSigned is used.
	Key string `hcl:"key,optional"`
	// ACME are the host names to get certificates for, instead of files. Empty: none.
	ACME []string `hcl:"acme,optional"`
	// Agreed states that you agree to the certificate authority's terms of service. ACME requires
	// it.
	Agreed bool `hcl:"agreed,optional"`
	// Email is the address to which the certificate authority reports problems. Empty: none.
	Email string `hcl:"email,optional"`
	// Store is the folder that keeps certificates and keys of ACME, and those of the authority of
	// SelfSigned. Empty: "certificates".
	Store string `hcl:"store,optional"`
	// CA is the URL of the certificate authority's ACME directory. Empty: that of Let's Encrypt.
	CA string `hcl:"ca,optional"`
	// SelfSigned makes the certificate by an authority of this machine, for localhost, 127.0.0.1,
	// ::1 and Names. Clients must import the authority's certificate, weir-local.pem in Store.
	SelfSigned bool `hcl:"self_signed,optional"`
	// Names are further local names and addresses of a self-signed certificate, such as
	// "app.localhost". Public names are rejected. Empty: none.
	Names []string `hcl:"names,optional"`
	// HTTP3 also serves HTTP/3, on the same port number over UDP.
	HTTP3 bool `hcl:"http3,optional"`
}

// validateTLS returns an error for blocks tls that cannot work.
func (s Server) validateTLS() error {
	if s.TicketKeys != "" && len(s.TLS) == 0 {
		return errors.New("ticket_keys is for TLS: add a block tls, or remove it")
	}
	selfSigned := 0
	for _, t := range s.TLS {
		if err := t.validate(); err != nil {
			return err
		}
		if t.SelfSigned {
			selfSigned++
		}
	}
	if selfSigned > 1 {
		return errors.New("two blocks tls have self_signed: list the names of both in the attribute names of one")
	}
	return nil
}

func (t *TLS) validate() error {
	sources := 0
	for _, isSet := range []bool{t.Cert != "" || t.Key != "", len(t.ACME) > 0, t.SelfSigned} {
		if isSet {
			sources++
		}
	}
	switch {
	case sources != 1 || (t.Cert == "") != (t.Key == ""):
		return errors.New("tls needs either cert and key, which are files, or acme, which is a list of names, or self_signed; further certificates have blocks tls of their own")
	case len(t.Names) > 0 && !t.SelfSigned:
		return errors.New("tls has names, which are those of a self-signed certificate: set self_signed, or list the names in acme")
	case t.SelfSigned:
		if err := certificate.ValidateLocal(t.Names...); err != nil {
			return fmt.Errorf("tls: %w", err)
		}
	}
	return nil
}
