// Package certtest issues certificates that tests trust, by hand or by ACME.
//
// # Limitations
//
// Its ACME server supports one certificate with the challenge TLS-ALPN-01, and does not check the
// signatures of requests. Only tests import the package.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Authority is a certificate authority of its own for each test.
type Authority struct {
	Certificate *x509.Certificate
	Pool        *x509.CertPool // contains Certificate
	key         *ecdsa.PrivateKey

	// ACME.
	*httptest.Server
	solver func() string // address to which port 443 of every name leads

	mu     sync.Mutex
	serial int64
	names  []string // names of the order
	valid  bool     // the challenge was met
	issued []byte   // PEM
}

// New makes an authority.
func New(t testing.TB) *Authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &Authority{key: key, Pool: x509.NewCertPool(), serial: 1}
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of tests"}, NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, root, root, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if a.Certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.Pool.AddCert(a.Certificate)
	return a
}

// Sign issues a certificate for names, as PEM followed by the authority's.
func (a *Authority) Sign(public any, names ...string) ([]byte, error) {
	a.mu.Lock()
	a.serial++
	serial := a.serial
	a.mu.Unlock()
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(serial), DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.Certificate, public, a.key)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate.Raw})...), nil
}

// Files writes a new pair into dir and replaces an existing one.
func (a *Authority) Files(t testing.TB, dir, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := a.Sign(&key.PublicKey, name)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write(t, certFile, cert)
	write(t, keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	return certFile, keyFile
}

func write(t testing.TB, name string, text []byte) {
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Serve starts the ACME server. solver returns the address to which port 443 of every name leads.
func (a *Authority) Serve(t testing.TB, solver func() string) {
	a.solver = solver
	mux := http.NewServeMux()
	mux.HandleFunc("/directory", func(w http.ResponseWriter, r *http.Request) {
		reply(w, 200, map[string]any{"newNonce": a.URL + "/nonce", "newAccount": a.URL + "/account", "newOrder": a.URL + "/order"})
	})
	mux.HandleFunc("/nonce", func(w http.ResponseWriter, r *http.Request) {})
	mux.HandleFunc("/account", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", a.URL+"/account/1")
		reply(w, 201, map[string]any{"status": "valid"})
	})
	mux.HandleFunc("/order", a.newOrder)
	mux.HandleFunc("/order/1", a.order)
	mux.HandleFunc("/authz/1", a.authorization)
	mux.HandleFunc("/challenge/1", a.challenge)
	mux.HandleFunc("/finalize/1", a.finalize)
	mux.HandleFunc("/cert/1", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/pem-certificate-chain")
		w.Write(a.issued)
	})
	nonce := 0
	a.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		nonce++
		w.Header().Set("Replay-Nonce", fmt.Sprint("nonce", nonce))
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(a.Close)
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

// payload decodes the signed part of a request.
func payload(r *http.Request, v any) error {
	var signed struct{ Payload string }
	if err := json.NewDecoder(r.Body).Decode(&signed); err != nil {
		return err
	}
	text, err := base64.RawURLEncoding.DecodeString(signed.Payload)
	if err != nil || len(text) == 0 {
		return err
	}
	return json.Unmarshal(text, v)
}

func (a *Authority) newOrder(w http.ResponseWriter, r *http.Request) {
	var order struct{ Identifiers []struct{ Value string } }
	if err := payload(r, &order); err != nil {
		reply(w, 400, map[string]any{"detail": err.Error()})
		return
	}
	a.names, a.valid, a.issued = nil, false, nil
	for _, id := range order.Identifiers {
		a.names = append(a.names, id.Value)
	}
	w.Header().Set("Location", a.URL+"/order/1")
	a.writeOrder(w, 201)
}

func (a *Authority) order(w http.ResponseWriter, r *http.Request) { a.writeOrder(w, 200) }

func (a *Authority) writeOrder(w http.ResponseWriter, status int) {
	order := map[string]any{
		"status": "pending", "identifiers": []any{a.identifier()}, "authorizations": []string{a.URL + "/authz/1"}, "finalize": a.URL + "/finalize/1",
	}
	switch {
	case a.issued != nil:
		order["status"], order["certificate"] = "valid", a.URL+"/cert/1"
	case a.valid:
		order["status"] = "ready"
	}
	reply(w, status, order)
}

func (a *Authority) identifier() map[string]string {
	return map[string]string{"type": "dns", "value": a.names[0]}
}

func (a *Authority) status() string {
	if a.valid {
		return "valid"
	}
	return "pending"
}

func (a *Authority) challengeObject() map[string]any {
	return map[string]any{"type": "tls-alpn-01", "url": a.URL + "/challenge/1", "token": "token-of-tests", "status": a.status()}
}

func (a *Authority) authorization(w http.ResponseWriter, r *http.Request) {
	reply(w, 200, map[string]any{"status": a.status(), "identifier": a.identifier(), "challenges": []any{a.challengeObject()}})
}

// challenge connects to the name with the challenge's protocol: the certificate must have the
// acmeIdentifier extension (RFC 8737).
func (a *Authority) challenge(w http.ResponseWriter, r *http.Request) {
	c, err := tls.Dial("tcp", a.solver(), &tls.Config{InsecureSkipVerify: true, ServerName: a.names[0], NextProtos: []string{"acme-tls/1"}})
	if err == nil {
		for _, e := range c.ConnectionState().PeerCertificates[0].Extensions {
			a.valid = a.valid || e.Id.String() == "1.3.6.1.5.5.7.1.31"
		}
		c.Close()
	}
	reply(w, 200, a.challengeObject())
}

func (a *Authority) finalize(w http.ResponseWriter, r *http.Request) {
	var request struct{ CSR string }
	err := payload(r, &request)
	if err == nil && a.valid {
		err = a.issue(request.CSR)
	}
	if err != nil {
		reply(w, 400, map[string]any{"detail": err.Error()})
		return
	}
	w.Header().Set("Location", a.URL+"/order/1")
	a.writeOrder(w, 200)
}

func (a *Authority) issue(text string) error {
	der, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	csr, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return err
	}
	a.mu.Unlock()
	defer a.mu.Lock()
	a.issued, err = a.Sign(csr.PublicKey, csr.DNSNames...)
	return err
}
