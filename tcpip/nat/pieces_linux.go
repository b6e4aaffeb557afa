package nat

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxPieces is how many pieces are written at once.
const maxPieces = 16

// writePieces writes pieces, none of which is empty, by one system call.
func writePieces(fd int, pieces [][]byte) (n int, errno unix.Errno) {
	var vectors [maxPieces]unix.Iovec
	pieces = pieces[:min(len(pieces), maxPieces)]
	for i, p := range pieces {
		vectors[i].Base = &p[0]
		vectors[i].SetLen(len(p))
	}
	r, _, errno := unix.Syscall(unix.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(&vectors)), uintptr(len(pieces)))
	if errno != 0 {
		return 0, errno
	}
	return int(r), 0
}

// dropFirst removes the first n bytes of pieces.
func dropFirst(pieces [][]byte, n int) [][]byte {
	for len(pieces) > 0 && n >= len(pieces[0]) {
		n -= len(pieces[0])
		pieces = pieces[1:]
	}
	if n > 0 {
		pieces[0] = pieces[0][n:]
	}
	return pieces
}
