package serve

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"sync"
	"time"
)

// echoTLS is echoTo over TLS. run runs the handshake, which ends within the limit.
func echoTLS(c net.Conn, run func(net.Conn, func()), limit time.Duration) {
	config, err := testTLS()
	if err != nil {
		return
	}
	s := tls.Server(c, config)
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	run(c, func() { err = s.HandshakeContext(ctx) })
	if err == nil {
		echoTo(s, 0)
	}
}

// onLoop calls f where it is. It is OffLoop for a handshake on the loop.
func onLoop(_ net.Conn, f func()) { f() }

// testTLS returns the configuration of the TLS services. All processes have the same key for
// session tickets.
var testTLS = sync.OnceValues(func() (*tls.Config, error) {
	certificate, err := newCertificate()
	c := &tls.Config{Certificates: []tls.Certificate{certificate}}
	c.SetSessionTicketKeys([][32]byte{{1: 1}})
	return c, err
})

// newCertificate returns a certificate that is signed by its own key.
func newCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
