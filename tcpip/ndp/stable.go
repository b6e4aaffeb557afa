package ndp

import (
	"crypto/hmac"
	"crypto/sha256"
	"net/netip"
)

// StableAddr returns a stable address in a network of /64 (RFC 7217, section 5). It depends on the
// prefix, so that hosts cannot be recognized in another network, and on the name of the interface.
// tries counts the addresses before this one that another host had. key is the secret of the host.
// Identifiers that are reserved (RFC 5453) are not returned.
func StableAddr(prefix netip.Prefix, iface string, tries byte, key []byte) netip.Addr {
	network := prefix.Masked().Addr().As16()
	for again := byte(0); ; again++ {
		mac := hmac.New(sha256.New, key)
		mac.Write(network[:8])
		mac.Write([]byte(iface))
		mac.Write([]byte{tries, again})
		sum := mac.Sum(nil)
		a := network
		copy(a[8:], sum[:8])
		if !reserved([8]byte(a[8:])) {
			return netip.AddrFrom16(a)
		}
	}
}

// reserved reports whether an interface identifier is reserved: that of the subnet-router anycast
// address, those of Ethernet assignments by IANA, and the subnet anycast addresses (RFC 5453).
func reserved(id [8]byte) bool {
	switch {
	case id == [8]byte{}:
		return true
	case [5]byte(id[:5]) == [5]byte{2, 0, 0x5e, 0xff, 0xfe}:
		return true
	}
	return [7]byte(id[:7]) == [7]byte{0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff} && id[7] >= 0x80
}
