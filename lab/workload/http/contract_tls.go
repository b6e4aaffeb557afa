package http

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"weir/lab/contract"
	"weir/lab/internal/certificate"
)

// addCertificate makes a certificate for the server.
func addCertificate(b *contract.Bench) {
	files, err := certificate.Create(filepath.Join(b.Dir, "tls"), b.Params.Host)
	contract.Must(err)
	b.Params.Cert, b.Params.Key = files.Cert, files.Key
}

// encrypted checks that a server with a certificate sends each file by TLS 1.3, several times on a
// connection. It must accept the parameters that all servers are compared with.
func encrypted(b *bench) {
	trusted := x509.NewCertPool()
	text, err := os.ReadFile(b.Params.Cert)
	contract.Expect(err == nil && trusted.AppendCertsFromPEM(text), "the certificate of the check cannot be used: %w", err)
	transport := &http.Transport{DisableCompression: true, TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS13,
		CurvePreferences: []tls.CurveID{tls.X25519}, NextProtos: []string{"http/1.1"}}}
	defer transport.CloseIdleConnections()
	visitor := &http.Client{Transport: transport, Timeout: b.Timeout}
	for range 3 {
		for _, path := range b.paths() {
			address := "https://" + b.Addr() + path
			contract.During("GET "+address, func() { b.getEncrypted(visitor, address).checkFile(path, b.www.files[path]) })
		}
	}
}

// getEncrypted requests a file by TLS, and checks how the response is encrypted.
func (b *bench) getEncrypted(visitor *http.Client, address string) response {
	request, err := http.NewRequestWithContext(b.Context, http.MethodGet, address, nil)
	contract.Must(err)
	r, err := visitor.Do(request)
	contract.Must(err)
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	contract.Must(err)
	contract.Expect(r.TLS != nil, "expected TLS, saw none")
	contract.Expect(r.TLS.CipherSuite == tls.TLS_AES_128_GCM_SHA256, "expected the cipher TLS_AES_128_GCM_SHA256, saw %s", tls.CipherSuiteName(r.TLS.CipherSuite))
	return response{r, body}
}
