//go:build darwin || freebsd

package files

import (
	"io/fs"
	"syscall"
)

func (s *stamp) identify(info fs.FileInfo) {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.changed, s.inode, s.device = sys.Ctimespec.Nano(), uint64(sys.Ino), uint64(sys.Dev)
	}
}
