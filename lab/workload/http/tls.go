package http

import (
	"fmt"
	"path/filepath"
	"slices"

	"weir/lab/internal/certificate"
	"weir/lab/workload"
	"weir/lab/workload/http/httpload"
)

const (
	tlsDir = "tls" // in the directory of a run
	// Every connection of a load with TLS must use these, so that all subjects do the same work.
	// The generator offers this key exchange alone. The version and the cipher are checked.
	keyExchange = "X25519"
	tlsVersion  = "TLS 1.3"
	tlsCipher   = "TLS_AES_128_GCM_SHA256"
)

// makeCertificate creates the certificate of the run if a load uses TLS. The certificates that loads
// trust must be readable.
func makeCertificate(s *workload.Site, loads []workload.Load) (files certificate.Files, err error) {
	for _, l := range loads {
		if _, err := l.(*Load).readCA(); err != nil {
			return files, fmt.Errorf("lab: load %q: %w", l.Shared().Name, err)
		}
	}
	if !slices.ContainsFunc(loads, func(l workload.Load) bool { return l.(*Load).TLS }) {
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

// tlsFailures returns what differs from the TLS that loads ask for.
func tlsFailures(seen *httpload.TLSReport) (wrong workload.Findings) {
	for _, part := range [][3]string{{"version", seen.Version, tlsVersion}, {"cipher", seen.Cipher, tlsCipher}, {"key exchange", seen.KeyExchange, keyExchange}} {
		wrong.Add(part[1] != part[2], "used the TLS %s %s, every subject must use %s", part[0], part[1], part[2])
	}
	return wrong
}
