package http

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mapFrom is the size from which on a file is mapped rather than read, in bytes.
const mapFrom = 16 << 20

// ReadExpected returns what stands in a file, for Config.Expect. A large file is mapped, not
// copied: it must stay as it is until release is called, which nobody may use text after.
func ReadExpected(name string) (text []byte, release func(), err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if size := info.Size(); info.Mode().IsRegular() && size >= mapFrom {
		if text, err = unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED); err != nil {
			return nil, nil, fmt.Errorf("can't map %s: %w", name, err)
		}
		return text, func() { unix.Munmap(text) }, nil //nolint:errcheck // it was mapped
	}
	if text, err = os.ReadFile(name); err == nil && text == nil {
		text = []byte{} // nothing is expected, which is not the same as not knowing
	}
	return text, func() {}, err
}
