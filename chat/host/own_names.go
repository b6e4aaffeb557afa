package host

import (
	"crypto/x509"
	"net/url"
	"slices"

	"weir/chat/front"
)

// hostsKey names the configuration key of ownName, as an error states it.
const hostsKey = "hosts under [web]"

// ownName reports whether a host name, in canonical form, is one of this server: of web.hosts,
// another configured name, or a name of the certificate. It reads the current configuration, so a
// reload takes effect at once.
func (h *Host) ownName(name string) bool {
	c := h.Config()
	same := func(other string) bool {
		other, ok := front.CanonicalHost(other)
		return ok && other == name
	}
	if slices.ContainsFunc(c.Web.Hosts, same) || slices.ContainsFunc(c.TLS.ACME, same) || slices.ContainsFunc(c.names(), same) {
		return true
	}
	if at, err := url.Parse(c.Upload.URL); err == nil && same(at.Hostname()) {
		return true
	}
	return h.certificateCovers(name)
}

// certificateCovers reports whether the certificate is valid for a name.
func (h *Host) certificateCovers(name string) bool {
	if h.certificate == nil || len(h.Config().TLS.ACME) > 0 {
		return false
	}
	shown, err := h.certificate.Get(nil)
	if err != nil {
		return false
	}
	leaf := shown.Leaf
	if leaf == nil {
		if leaf, err = x509.ParseCertificate(shown.Certificate[0]); err != nil {
			return false
		}
	}
	return leaf.VerifyHostname(name) == nil
}

// checkHosts rejects invalid host names.
func (w *Web) checkHosts(k *checker) {
	for _, name := range w.Hosts {
		if _, ok := front.CanonicalHost(name); !ok {
			k.addProblem("web.hosts", "%q is not a host name: write one such as chat.example.org, without a port; an international name as browsers send it (xn--…)", name)
		}
	}
}
