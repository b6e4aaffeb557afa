package httpload

import (
	"crypto/tls"
	"net/url"

	"weir/lab/internal/tlsclient"
)

// TLS has the settings of https:// URLs.
type TLS = tlsclient.Settings

// TLSReport is the part of a Report about TLS.
type TLSReport = tlsclient.Report

// alpnHTTP1 is the only application protocol that is offered, without Config.HTTP2.
const alpnHTTP1 = "http/1.1"

// tlsConfig returns the settings of a client; nil if the URL is not https://.
func (c Config) tlsConfig() *tls.Config {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "https" {
		return nil
	}
	if c.HTTP2 {
		return c.TLS.Config(u.Hostname(), alpnHTTP2)
	}
	return c.TLS.Config(u.Hostname(), alpnHTTP1)
}
