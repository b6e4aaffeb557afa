package serve

import (
	"cmp"
	"errors"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// sendFile implements SendFile.
func sendFile(w kernelWriter, f *os.File, offset, n int64) (sent int64, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	gone := raw.Control(func(file uintptr) {
		setCork(w, true)
		sent, err = sendDescriptor(w, int(file), offset, n)
		setCork(w, false)
	})
	return sent, cmp.Or(gone, err)
}

// setCork makes the kernel send whole segments only (tcp(7), TCP_CORK), or what is left. Without
// it, each piece that sendfile hands to the connection ends with a short segment, and large files
// cost a third more CPU.
func setCork(w kernelWriter, on bool) {
	value := 0
	if on {
		value = 1
	}
	// it fails if the connection has ended, or is not of TCP
	_, _ = w.writeBy(func(fd int) (int, syscall.Errno) {
		_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_CORK, value)
		return 0, 0
	})
}

// sendDescriptor is sendFile for the descriptor of a file.
func sendDescriptor(w kernelWriter, file int, offset, n int64) (sent int64, err error) {
	for sent < n {
		unsupported := false
		wrote, err := w.writeBy(func(fd int) (int, syscall.Errno) {
			wrote, errno := uninterrupted(func() (int, error) { return sendPiece(fd, file, &offset, n-sent) })
			unsupported = sent == 0 && (errno == syscall.EINVAL || errno == syscall.ENOSYS || errno == syscall.EOPNOTSUPP)
			if unsupported {
				return 0, 0 // the connection is not broken
			}
			return wrote, errno
		})
		switch sent += int64(wrote); {
		case unsupported:
			return 0, errors.ErrUnsupported
		case err != nil || wrote == 0:
			return sent, err
		}
	}
	return sent, nil
}

// maxRawCopy is the number of bytes that one system call may copy without notifying the scheduler:
// about 0.2 ms, for which the garbage collector may have to wait.
const maxRawCopy = 512 << 10

// sendPiece sends at most n bytes from the offset, which it moves. The scheduler is notified, which
// costs up to a fifth more CPU, only if the kernel must read the file from its disk first.
func sendPiece(fd, file int, offset *int64, n int64) (int, error) {
	piece := min(n, maxRawCopy)
	if !isCached(file, *offset) || !isCached(file, *offset+piece-1) {
		return syscall.Sendfile(fd, file, offset, int(min(n, maxKernelCopy)))
	}
	sent, _, errno := syscall.RawSyscall6(syscall.SYS_SENDFILE, uintptr(fd), uintptr(file), uintptr(unsafe.Pointer(offset)), uintptr(piece), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(sent), nil
}

// preadv2 is the number of the system call, which package syscall lacks; 0: it is not known.
var preadv2 = map[string]uintptr{"amd64": 327, "arm64": 286, "loong64": 286, "riscv64": 286}[runtime.GOARCH]

// readNoWait is RWF_NOWAIT of preadv2(2): fail with EAGAIN if data must be read from the disk.
const readNoWait = 8

// isCached reports whether the byte of a file at the offset is known to be in memory.
func isCached(file int, offset int64) bool {
	n, errno := readCached(file, offset)
	return errno == 0 && n == 1
}

// readCached reads the byte of a file at the offset if it is in memory. The error is EOPNOTSUPP if
// the file system cannot say, as overlayfs.
func readCached(file int, offset int64) (n int, errno syscall.Errno) {
	if preadv2 == 0 {
		return 0, syscall.EOPNOTSUPP
	}
	var room [1]byte
	to := syscall.Iovec{Base: &room[0], Len: 1}
	read, _, errno := syscall.RawSyscall6(preadv2, uintptr(file), uintptr(unsafe.Pointer(&to)), 1, uintptr(offset), 0, readNoWait)
	return int(read), errno
}
