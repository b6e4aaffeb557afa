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

// maxHeader is the length of the longest header that is read, in bytes. Version 1 has 107 at most;
// version 2 a certificate, say, besides.
const maxHeader = 4096

// maxText is the length of the longest header of version 1, in bytes.
const maxText = 107

// ErrNoHeader means that a trusted proxy's connection does not begin by a header that could be
// read; the error around it says why.
var ErrNoHeader = errors.New("front: no PROXY header")

// origin is what a header says of who is behind the proxy. The zero value: the proxy speaks for
// itself.
type origin struct {
	addr   netip.Addr
	secure bool // came to the proxy by TLS
}

// parseHeader reads the header at the beginning of b, which is n bytes long; 0: more has to come.
func parseHeader(b []byte) (c origin, n int, err error) {
	n, err = headerLength(b)
	if n == 0 || err != nil {
		return c, 0, err
	}
	// has to be there at once
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

// headerLength is the length of the header that b begins with, 0 as long as that is not known, or
// not all of it is there.
func headerLength(b []byte) (int, error) {
	switch {
	case begins(b, proxyproto.SIGV1):
		if i := bytes.IndexByte(b[:min(len(b), maxText)], '\n'); i >= 0 {
			return i + 1, nil
		}
		if len(b) >= maxText {
			return 0, fmt.Errorf("%w: the line has no end", ErrNoHeader)
		}
		return 0, nil
	case begins(b, proxyproto.SIGV2):
		if len(b) < 16 {
			return 0, nil
		}
		n := 16 + int(binary.BigEndian.Uint16(b[14:]))
		if n > maxHeader {
			return 0, fmt.Errorf("%w: %d bytes, at most %d", ErrNoHeader, n, maxHeader)
		}
		if len(b) < n {
			return 0, nil
		}
		return n, nil
	}
	return 0, fmt.Errorf("%w: something else came", ErrNoHeader)
}

// begins says whether b begins with a signature, as far as it goes.
func begins(b, signature []byte) bool {
	n := min(len(b), len(signature))
	return bytes.Equal(b[:n], signature[:n])
}

// Proxies are the addresses that are trusted to say who their clients are.
type Proxies []netip.Prefix

// ParseProxies reads addresses and networks ("192.0.2.1", "10.0.0.0/8", "::1").
func ParseProxies(texts []string) (all Proxies, err error) {
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if a, aerr := netip.ParseAddr(text); aerr == nil {
			p, err = a.WithZone("").Prefix(a.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("%q is no address and no network: write such as 192.0.2.1 or 10.0.0.0/8", text)
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

// Trust says whether a connection from there has to begin by a header. Who has no address, on a
// Unix socket say, is never trusted.
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

// addrOf is the address of a connection, zero when it has none.
func addrOf(a net.Addr) netip.Addr {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}
