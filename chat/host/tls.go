package host

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"weir/chat"
	"weir/chat/front"
	"weir/internal/certificate"
	"weir/serve"
	"weir/web/server"
)

// TLS configures connections by TLS. It needs a certificate: from files, from an authority by ACME,
// or self-signed.
type TLS struct {
	// HOST:PORT for IRC clients. Default :6697 with a certificate; an empty list: none
	Listen []string `toml:"listen"`
	Model  string   `toml:"model"` // concurrency model: goroutine or pool. Default goroutine
	Run    string   `toml:"run"`   // old spelling of model, which still works
	Web    bool     `toml:"web"`   // the page uses TLS, too. Default no

	// PEM file, the server's certificate first; read again when it changes, and at each reload.
	// Default none
	Cert string `toml:"cert"`
	Key  string `toml:"key"` // PEM file of the private key. Default none
	// self-signed certificate, created once in the data directory; clients verify its fingerprint.
	// Default no
	Self bool `toml:"self"`

	// host names of a certificate from an authority (ACME, RFC 8555). Default none
	ACME []string `toml:"acme"`
	// agreement to the authority's terms, which ACME requires. Default no
	Agreed bool   `toml:"agreed"`
	Email  string `toml:"email"` // mail address for the authority. Default none
	// URL of the authority's directory. Default Let's Encrypt's
	CA string `toml:"ca"`
	// folder of ACME's keys and certificates. Default acme in the data directory
	Store string `toml:"store"`
	// HOST:PORT that port 443 of the names leads to, for the authority's challenge. Default :443
	Challenge string `toml:"challenge"`

	// time for which clients with STS use TLS only, up to a year; 0: they forget the policy.
	// Default: no policy
	STS *Duration `toml:"sts"`
	// port of the STS policy. Default that of the first address of listen
	STSPort int `toml:"sts_port"`
}

// Proxy configures proxies between IRC clients and the server, in clear text and by TLS.
type Proxy struct {
	// addresses and networks whose connections always start with a header of the PROXY protocol.
	// Default none
	Trusted []string `toml:"trusted"`
}

// hasCertificate reports whether a certificate is configured.
func (t *TLS) hasCertificate() bool { return t.Cert != "" || t.Key != "" || t.Self || len(t.ACME) > 0 }

// listen returns the addresses for IRC clients.
func (t *TLS) listen() []string {
	if t.Listen == nil && t.hasCertificate() {
		return []string{":6697"}
	}
	return t.Listen
}

func (t *TLS) challenge() string {
	if t.Challenge == "" {
		return ":443"
	}
	return t.Challenge
}

const year = 365 * 24 * time.Hour

func (t *TLS) check(k *checker) {
	k.addresses("tls.listen", t.Listen)
	k.oneOf("tls.model", t.Model, "goroutine", "pool")
	k.addresses("tls.challenge", []string{t.challenge()})
	switch {
	case len(t.Listen) > 0 && !t.hasCertificate():
		k.addProblem("tls.listen", "there is no certificate: write cert and key, acme, or self = true")
	case t.Web && !t.hasCertificate():
		k.addProblem("tls.web", "there is no certificate: write cert and key, acme, or self = true")
	case (t.Cert == "") != (t.Key == ""):
		k.addProblem("tls.cert", "a certificate needs its key: write both cert and key")
	case t.Cert != "" && (t.Self || len(t.ACME) > 0), t.Self && len(t.ACME) > 0:
		k.addProblem("tls", "several certificates are configured: keep one of cert, acme and self")
	case len(t.ACME) > 0 && !t.Agreed:
		k.addProblem("tls.agreed", "the authority requires agreement to its terms: write agreed = true if you agree")
	}
	t.checkSTS(k)
}

func (t *TLS) checkSTS(k *checker) {
	k.inRange("tls.sts_port", t.STSPort, 1, 65535)
	if t.STS == nil {
		return
	}
	k.durationInRange("tls.sts", *t.STS, time.Second, year)
	switch {
	case len(t.listen()) == 0:
		k.addProblem("tls.sts", "there is no TLS listener for STS: write listen, or remove sts")
	case t.Self && *t.STS > 0:
		k.addProblem("tls.sts", "clients with STS reject a self-signed certificate: use another, or remove sts")
	}
}

// sts returns the STS policy, nil for none.
func (t *TLS) sts() *chat.STS {
	if t.STS == nil {
		return nil
	}
	sts := &chat.STS{Duration: t.STS.Std()}
	if *t.STS > 0 {
		if sts.Port = t.STSPort; sts.Port == 0 {
			sts.Port = portOf(t.listen()[0])
		}
	}
	return sts
}

// portOf returns the port of a valid address.
func portOf(address string) int {
	_, port, _ := net.SplitHostPort(address)
	n, _ := net.LookupPort("tcp", port)
	return n
}

// checkFiles returns an error if the certificate's files are unusable.
func (t *TLS) checkFiles() error {
	if t.Cert == "" {
		return nil
	}
	if _, err := certificate.Files(t.Cert, t.Key, nil); err != nil {
		return &Problem{"tls.cert", err.Error()}
	}
	return nil
}

// openTLS opens the certificate and the listeners for clients by TLS.
func (h *Host) openTLS(c *Config) (err error) {
	if !c.TLS.hasCertificate() {
		return nil
	}
	if h.certificate, err = h.certificateSource(c); err != nil {
		return err
	}
	way := serve.Goroutine
	if c.TLS.Model == "pool" {
		way = serve.Pool
	}
	meter := new(serve.Meter)
	for _, address := range c.TLS.listen() {
		l, err := h.listen("ircs", "tls.listen", address)
		if err != nil {
			return err
		}
		secure := front.Listen(l, front.Config{Certificate: h.certificate, Proxies: h.proxies, OnFailure: h.handshakeFailed})
		h.entrances = append(h.entrances, &entrance{name: "ircs", listener: secure, way: way, meter: meter})
	}
	return nil
}

// certificateSource returns the source of the certificate.
func (h *Host) certificateSource(c *Config) (s *certificate.Source, err error) {
	t, cert, key := &c.TLS, c.TLS.Cert, c.TLS.Key
	logf := func(format string, args ...any) { h.log.Error("certificate", "error", fmt.Sprintf(format, args...)) }
	if len(t.ACME) > 0 {
		at, err := net.ResolveTCPAddr("tcp", t.challenge())
		if err != nil {
			return nil, &Problem{"tls.challenge", err.Error()}
		}
		store := t.Store
		if store == "" {
			store = filepath.Join(c.Data, "acme")
		}
		return certificate.ByACME(&certificate.ACME{Names: t.ACME, Email: t.Email, Agreed: t.Agreed, CA: t.CA, Dir: store}, at, logf)
	}
	if t.Self {
		if cert, key, err = certificate.Self(filepath.Join(c.Data, "tls"), c.names()); err != nil {
			return nil, &Problem{"tls.self", err.Error()}
		}
	}
	if s, err = certificate.Files(cert, key, logf); err != nil {
		return nil, &Problem{"tls.cert", err.Error()}
	}
	shown, err := s.Get(nil)
	if err == nil {
		h.log.Info("certificate", "fingerprint", certificate.Fingerprint(shown.Certificate[0]))
	}
	return s, err
}

// webTLS returns the TLS configuration of the page, nil for none.
func (h *Host) webTLS(c *Config) *server.TLS {
	if !c.TLS.Web {
		return nil
	}
	return &server.TLS{Source: h.certificate}
}

// names returns the names and addresses by which clients may reach the server, as far as it knows.
func (c *Config) names() []string {
	var all []string
	if c.Server.Name != "" {
		all = append(all, c.Server.Name)
	}
	if name, err := os.Hostname(); err == nil && name != "" {
		all = append(all, name)
	}
	all = append(all, "localhost", "127.0.0.1", "::1")
	for _, address := range slices.Concat(c.TLS.listen(), c.Web.Listen) {
		if host, _, _ := net.SplitHostPort(address); host != "" && !slices.Contains(all, host) && !unspecified(host) {
			all = append(all, host)
		}
	}
	return all
}

func unspecified(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsUnspecified()
}

// Fingerprint returns the SHA-256 fingerprint of the self-signed certificate in hex, "" if there is
// none.
func (h *Host) Fingerprint() string {
	if h.certificate == nil || !h.Config().TLS.Self {
		return ""
	}
	shown, err := h.certificate.Get(nil)
	if err != nil {
		return ""
	}
	return certificate.Fingerprint(shown.Certificate[0])
}

// renew obtains and renews certificates by ACME until ctx ends.
func (h *Host) renew(ctx context.Context) {
	if h.certificate != nil {
		h.certificate.Manage(ctx)
	}
}

func (h *Host) handshakeFailed(from net.Addr, err error) {
	h.log.Debug("a TLS handshake failed", "address", from, "error", strconv.Quote(err.Error()))
}
