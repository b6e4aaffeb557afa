package httpload

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mapFrom is the size in bytes from which on a file is mapped, not read.
const mapFrom = 16 << 20

// ReadExpected returns the content of a file, for Config.Expect. A large file is mapped: it must
// not change until release is called. text must not be used after that.
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
		text = []byte{} // an empty body is expected; nil would mean that the body is not known
	}
	return text, func() {}, err
}
