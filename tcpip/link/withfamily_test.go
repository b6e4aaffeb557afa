package link

import (
	"bytes"
	"encoding/binary"
	"net"
	"testing"
)

// Packets have their family before them on the device, and not above it.
func TestPacketsHaveTheirFamilyOnTheDevice(t *testing.T) {
	ours, device := net.Pipe()
	defer device.Close()
	c := WithFamily(ours, FamilyIPv6Darwin)
	defer c.Close()
	for _, want := range []struct {
		packet []byte
		family uint32
	}{{[]byte{0x45, 1, 2}, 2}, {[]byte{0x60, 3}, FamilyIPv6Darwin}} {
		go c.Write(want.packet) //nolint:errcheck // the device shows it
		b := make([]byte, 100)
		n, err := device.Read(b)
		if err != nil || n < familyLen || binary.BigEndian.Uint32(b) != want.family || !bytes.Equal(b[familyLen:n], want.packet) {
			t.Errorf("writing %x: the device got %x and %v, want it behind the family %d", want.packet, b[:n], err, want.family)
		}
		go func() {
			device.Write([]byte{0, 0, 0, 2}) //nolint:errcheck // a packet without bytes is skipped
			device.Write(b[:n])              //nolint:errcheck // the read shows it
		}()
		if n, err := c.Read(b[50:]); err != nil || !bytes.Equal(b[50:50+n], want.packet) {
			t.Errorf("reading: got %x and %v, want %x", b[50:50+n], err, want.packet)
		}
	}
	for _, wrong := range [][]byte{nil, make([]byte, 65536)} {
		if _, err := c.Write(wrong); err == nil {
			t.Errorf("writing a packet of %d bytes: got no error, want one", len(wrong))
		}
	}
}

// FuzzWithFamily: what is written is read at the other end, and nothing read makes it fail.
func FuzzWithFamily(f *testing.F) {
	f.Add([]byte{0x45, 0})
	f.Add([]byte{0, 0, 0, 30})
	f.Fuzz(func(t *testing.T, packet []byte) {
		if len(packet) == 0 || len(packet) > 1000 {
			return
		}
		near, far := net.Pipe()
		a, b := WithFamily(near, FamilyIPv6FreeBSD), WithFamily(far, FamilyIPv6FreeBSD)
		defer a.Close()
		defer b.Close()
		go a.Write(packet) //nolint:errcheck // the other end shows it
		got := make([]byte, 2000)
		if n, err := b.Read(got); err != nil || !bytes.Equal(got[:n], packet) {
			t.Errorf("got %x and %v, want %x", got[:n], err, packet)
		}
	})
}
