package link

import (
	"encoding/binary"

	"weir/wire"
)

// TapConfig says which device to open, and how.
type TapConfig struct {
	// of the device, at most 15 bytes; made if it is not there, and gone again after Close then.
	// Empty: the kernel names it
	Name      string
	Namespace string   // named network namespace that it is in; empty: the caller's
	MAC       wire.MAC // the stack's, not the device's; zero: made from the name
	// default 1; a device that is there has been made either for one or for several
	Queues int
	// frames as on a wire: no superframes, no checksums left to the device. So it is, too, where
	// the system has no other
	Plain bool
	MTU   int // largest packet in bytes; 0: what the device has when it is opened
}

// superframeMost is the largest superframe's packet that a device takes or gives.
const superframeMost = 65535

// macOf is a locally administered address that depends on a name.
func macOf(name string) wire.MAC {
	h := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(name) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], h)
	return wire.MAC{0x02, b[3], b[4], b[5], b[6], b[7]}
}
