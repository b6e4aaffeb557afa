package front

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/pires/go-proxyproto"
	"github.com/pires/go-proxyproto/tlvparse"
)

// maxHeader is the length limit of a header of version 2, in bytes; it may contain a certificate.
const maxHeader = 4096

// maxTextHeader is the length limit of a header of version 1, in bytes (PROXY protocol, section
// 2.1).
const maxTextHeader = 107

// ErrNoHeader is wrapped by the error for a proxy's connection that does not start with a valid
// header.
var ErrNoHeader = errors.New("front: no PROXY header")

// origin is the client that a header states. The zero value: the connection is of the proxy itself.
type origin struct {
	addr   netip.Addr
	secure bool // the client uses TLS to the proxy
}

// parseHeader parses the header at the start of b. n is its length, 0 if it is incomplete.
func parseHeader(b []byte) (c origin, n int, err error) {
	n, err = headerLength(b)
	if n == 0 || err != nil {
		return c, 0, err
	}
	// the header is complete, so this does not wait
	h, err := proxyproto.Read(bufio.NewReaderSize(bytes.NewReader(b[:n]), n))
	if err != nil {
		return c, 0, fmt.Errorf("%w: %w", ErrNoHeader, err)
	}
	if h.Command.IsLocal() {
		return c, n, nil
	}
	if from, ok := h.SourceAddr.(*net.TCPAddr); ok {
		c.addr = from.AddrPort().Addr().Unmap().WithZone("")
	}
	tlvs, err := h.TLVs()
	if err != nil {
		return c, 0, fmt.Errorf("%w: %w", ErrNoHeader, err)
	}
	if tls, ok := tlvparse.FindSSL(tlvs); ok {
		c.secure = tls.ClientSSL()
	}
	return c, n, nil
}

// headerLength returns the length of the header at the start of b, 0 if it is incomplete.
func headerLength(b []byte) (int, error) {
	switch {
	case hasSignature(b, proxyproto.SIGV1):
		if i := bytes.IndexByte(b[:min(len(b), maxTextHeader)], '\n'); i >= 0 {
			return i + 1, nil
		}
		if len(b) >= maxTextHeader {
			return 0, fmt.Errorf("%w: the line has no end", ErrNoHeader)
		}
		return 0, nil
	case hasSignature(b, proxyproto.SIGV2):
		if len(b) < 16 {
			return 0, nil
		}
		n := 16 + int(binary.BigEndian.Uint16(b[14:]))
		if n > maxHeader {
			return 0, fmt.Errorf("%w: got %d bytes, want at most %d", ErrNoHeader, n, maxHeader)
		}
		if len(b) < n {
			return 0, nil
		}
		return n, nil
	}
	return 0, fmt.Errorf("%w: got other bytes", ErrNoHeader)
}

// hasSignature reports whether b starts with the signature, as far as b goes.
func hasSignature(b, signature []byte) bool {
	n := min(len(b), len(signature))
	return bytes.Equal(b[:n], signature[:n])
}

// Proxies are the addresses that are trusted to state their clients' addresses.
type Proxies []netip.Prefix

// ParseProxies parses addresses and networks ("192.0.2.1", "10.0.0.0/8", "::1").
func ParseProxies(texts []string) (all Proxies, err error) {
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if a, aerr := netip.ParseAddr(text); aerr == nil {
			p, err = a.WithZone("").Prefix(a.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("%q is not an address or network: write, for example, 192.0.2.1 or 10.0.0.0/8", text)
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

// Trust reports whether a connection from an address must start with a header. A connection without
// an IP address, such as one on a Unix socket, is never trusted.
func (p Proxies) Trust(a net.Addr) bool { return p.trust(addrOf(a)) }

func (p Proxies) trust(from netip.Addr) bool {
	from = from.Unmap().WithZone("")
	for _, network := range p {
		if network.Contains(from) {
			return true
		}
	}
	return false
}

// addrOf returns the IP address of a connection, zero if it has none.
func addrOf(a net.Addr) netip.Addr {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}
