package http

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"weir/lab/contract"
	"weir/lab/internal/certificate"
)

// addCertificate makes a certificate for the server.
func addCertificate(b *contract.Bench) error {
	files, err := certificate.Create(filepath.Join(b.Dir, "tls"), b.Params.Host)
	b.Params.Cert, b.Params.Key = files.Cert, files.Key
	return err
}

// encrypted checks that a server with a certificate sends each file by TLS 1.3, several times on a
// connection. It must accept the parameters that all servers are compared with.
func encrypted(b *bench) error {
	trusted := x509.NewCertPool()
	text, err := os.ReadFile(b.Params.Cert)
	if err != nil || !trusted.AppendCertsFromPEM(text) {
		return fmt.Errorf("the certificate of the check cannot be used: %w", err)
	}
	transport := &http.Transport{DisableCompression: true, TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS13,
		CurvePreferences: []tls.CurveID{tls.X25519}, NextProtos: []string{"http/1.1"}}}
	defer transport.CloseIdleConnections()
	visitor := &http.Client{Transport: transport, Timeout: b.Timeout}
	for range 3 {
		for _, path := range b.paths() {
			if err := b.getEncrypted(visitor, path); err != nil {
				return fmt.Errorf("GET https://%s%s: %w", b.Addr(), path, err)
			}
		}
	}
	return nil
}

// getEncrypted requests a file by TLS and checks the response, and how it was encrypted.
func (b *bench) getEncrypted(visitor *http.Client, path string) error {
	request, err := http.NewRequestWithContext(b.Context, http.MethodGet, "https://"+b.Addr()+path, nil)
	if err != nil {
		return err
	}
	r, err := visitor.Do(request)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return err
	case r.TLS == nil:
		return errors.New("expected TLS, saw none")
	case r.TLS.CipherSuite != tls.TLS_AES_128_GCM_SHA256:
		return fmt.Errorf("expected the cipher TLS_AES_128_GCM_SHA256, saw %s", tls.CipherSuiteName(r.TLS.CipherSuite))
	}
	return response{r, body}.checkFile(path, b.www.files[path])
}
