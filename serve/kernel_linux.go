package serve

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// maxKernelCopy is the number of bytes that one system call may copy: a connection that ends waits
// for it.
const maxKernelCopy = 2 << 20

// uninterrupted makes a system call that copies, again if a signal has interrupted it.
func uninterrupted(call func() (int, error)) (int, syscall.Errno) {
	for {
		n, err := call()
		if err != syscall.EINTR {
			errno, _ := err.(syscall.Errno)
			return max(n, 0), errno
		}
	}
}

// Constants of Linux that package syscall lacks: F_SETPIPE_SZ, SPLICE_F_MOVE and SPLICE_F_NONBLOCK.
const (
	setPipeSize    = 1031
	spliceMove     = 1
	spliceNonblock = 2
)

// splicePipe is the number of bytes in the pipe between two sockets, if the system permits that.
const splicePipe = 256 << 10

// splice implements Splice. Data go through a pipe.
func splice(w kernelWriter, from SpliceSource, n int64) (sent int64, err error) {
	if _, err := w.writeBy(func(int) (int, syscall.Errno) { return 0, 0 }); err != nil {
		return 0, err
	}
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		return 0, errors.ErrUnsupported // too many descriptors are open
	}
	defer syscall.Close(pipe[0])
	defer syscall.Close(pipe[1])
	// if it fails, the pipe is smaller
	_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, uintptr(pipe[1]), setPipeSize, splicePipe)
	for sent < n {
		took, err := spliceIn(from, pipe[1], min(n-sent, maxKernelCopy))
		if took == 0 || err != nil {
			return sent, err
		}
		for took > 0 {
			wrote, err := w.writeBy(func(fd int) (int, syscall.Errno) { return spliceOnce(pipe[0], fd, took) })
			if err != nil {
				return sent, err
			}
			sent, took = sent+int64(wrote), took-int64(wrote)
		}
	}
	return sent, nil
}

// spliceIn moves what has arrived on a socket into a pipe, which is empty. It waits until something
// has. took is 0 at the end of the input.
func spliceIn(from SpliceSource, pipe int, most int64) (took int64, err error) {
	var errno syscall.Errno
	err = from.ReadRaw(func(fd uintptr) bool {
		var n int
		n, errno = spliceOnce(int(fd), pipe, most)
		took = int64(n)
		return errno != syscall.EAGAIN
	})
	switch {
	case err != nil:
		return 0, err
	case errno != 0:
		return 0, os.NewSyscallError("splice", errno)
	}
	from.Moved(took)
	return took, nil
}

func spliceOnce(from, to int, n int64) (int, syscall.Errno) {
	return uninterrupted(func() (int, error) {
		moved, err := syscall.Splice(from, nil, to, nil, int(n), spliceMove|spliceNonblock)
		return int(moved), err
	})
}

// writeBy implements kernelWriter, off the loop.
func (c *handlerConn) writeBy(send func(fd int) (int, syscall.Errno)) (int, error) {
	o := c.off.Load()
	if o == nil {
		return 0, errors.ErrUnsupported
	}
	return o.writeBy(send)
}

// writeBy implements kernelWriter.
func (o *offLoop) writeBy(send func(fd int) (int, syscall.Errno)) (int, error) {
	o.writing.Lock()
	defer o.writing.Unlock()
	for {
		if err := o.check(o.conn.writeDeadline.Load()); err != nil {
			return 0, err
		}
		n, errno := o.whileOpen(send)
		switch errno {
		case 0:
			if n > 0 {
				o.conn.countWritten(n)
			}
			return n, nil
		case syscall.EBADF:
			return 0, net.ErrClosed
		case syscall.EAGAIN:
			if err := o.wait(o.writable, &o.conn.writeDeadline); err != nil {
				return 0, err
			}
		default:
			o.broken.Store(true)
			return 0, os.NewSyscallError("write", errno)
		}
	}
}
