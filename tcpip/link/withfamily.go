package link

import (
	"encoding/binary"
	"fmt"
	"io"
)

// IPv6 address families of systems whose TUN devices put one before each packet. That of IPv4 is 2
// everywhere.
const (
	FamilyIPv6Darwin  = 30
	FamilyIPv6FreeBSD = 28
)

const (
	familyLen  = 4 // length of an address family before a packet, in bytes
	familyIPv4 = 2
)

// WithFamily returns a connection of IP packets over a device with the address family before each
// packet, as four bytes in network byte order: utun of macOS and iOS, where a packet tunnel
// extension gets its descriptor, and TUN of FreeBSD. ipv6 is the family of IPv6 packets. Packets
// have at most 65,535 bytes. Give the result to [Over].
//
// One goroutine may read while another one writes.
func WithFamily(device io.ReadWriteCloser, ipv6 uint32) io.ReadWriteCloser {
	return &withFamily{device: device, ipv6: ipv6, in: make([]byte, familyLen+65535)}
}

type withFamily struct {
	device io.ReadWriteCloser
	ipv6   uint32
	in     []byte // what was read
	out    []byte // what is being written
}

// Read implements [io.Reader]. A packet that is longer than b is cut, as by a device.
func (f *withFamily) Read(b []byte) (int, error) {
	for {
		n, err := f.device.Read(f.in)
		if err != nil {
			return 0, err
		}
		if n > familyLen {
			return copy(b, f.in[familyLen:n]), nil
		}
	}
}

// Write implements [io.Writer].
func (f *withFamily) Write(b []byte) (int, error) {
	if len(b) == 0 || len(b) > 65535 {
		return 0, fmt.Errorf("link: a packet of %d bytes: write 1 to 65,535", len(b))
	}
	family := uint32(familyIPv4)
	if b[0]>>4 == 6 {
		family = f.ipv6
	}
	f.out = append(binary.BigEndian.AppendUint32(f.out[:0], family), b...)
	if _, err := f.device.Write(f.out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close implements [io.Closer].
func (f *withFamily) Close() error { return f.device.Close() }
