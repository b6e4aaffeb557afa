package link

import (
	"encoding/binary"

	"weir/wire"
)

// TapConfig says which device to open, and how.
type TapConfig struct {
	// the device's name, at most 15 bytes. If it does not exist, it is made, and removed at Close.
	// Empty: the kernel chooses it
	Name      string
	Namespace string // named network namespace of the device; empty: the caller's
	// the stack's hardware address, not the device's; zero: derived from the name
	MAC wire.MAC
	// default 1; an existing device was made either for one queue or for several
	Queues int
	// frames as on a wire: no superframes, no checksum offload. It is implied if the system has no
	// offloads
	Plain bool
	MTU   int // largest packet in bytes; 0: the device's MTU when it is opened
}

// maxSuperframe is the largest packet of a superframe that a device accepts or delivers.
const maxSuperframe = 65535

// macOf returns a locally administered address derived from a name.
func macOf(name string) wire.MAC {
	h := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(name) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], h)
	return wire.MAC{0x02, b[3], b[4], b[5], b[6], b[7]}
}
