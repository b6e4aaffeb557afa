package lab

import (
	"fmt"
	"path/filepath"
	"slices"

	"weir/lab/internal/certificate"
	"weir/lab/workload/http/httpload"
)

// The part of loads of requests that is specific to TLS.

const (
	tlsDir = "tls" // in the directory of a run
	// Every connection of a load with TLS must use these, so that all subjects do the same work.
	// The generator offers this key exchange alone. The version and the cipher are checked.
	keyExchange = "X25519"
	tlsVersion  = "TLS 1.3"
	tlsCipher   = "TLS_AES_128_GCM_SHA256"
)

// makeCertificate creates the certificate of the run if a load uses TLS.
func (r *Runner) makeCertificate() (err error) {
	if !slices.ContainsFunc(r.experiment.Loads, func(l Load) bool { return l.TLS }) {
		return nil
	}
	dir, err := filepath.Abs(filepath.Join(r.store.dir, tlsDir))
	if err == nil {
		r.certificate, err = certificate.Create(dir, r.site.host)
	}
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	return nil
}

// restrictTLS limits the loads with TLS to the subjects that take a certificate. Without subjects
// of its own, such a load is left out with a message, not offered to all.
func (r *Runner) restrictTLS() {
	for i := range r.experiment.Loads {
		l := &r.experiment.Loads[i]
		if !l.TLS {
			continue
		}
		candidates := l.Subjects
		if len(candidates) == 0 {
			candidates = subjectNames(r.results.Subjects)
		}
		l.Subjects = slices.DeleteFunc(slices.Clone(candidates), func(name string) bool {
			s, takesPart := r.subjects[name]
			return takesPart && (s.Target != "" || !s.ServesTLS())
		})
		if len(l.Subjects) == 0 {
			l.Subjects = []string{"subjects with {cert}"}
		}
	}
}

// tlsFailures returns what differs from the TLS that a load asks for.
func tlsFailures(l Load, seen *httpload.TLSReport) (wrong findings) {
	if !l.TLS || seen == nil {
		return nil
	}
	for _, part := range [][3]string{{"version", seen.Version, tlsVersion}, {"cipher", seen.Cipher, tlsCipher}, {"key exchange", seen.KeyExchange, keyExchange}} {
		wrong.add(part[1] != part[2], "used the TLS %s %s, every subject must use %s", part[0], part[1], part[2])
	}
	return wrong
}
