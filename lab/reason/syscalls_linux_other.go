//go:build linux && !amd64

package reason

var oldSyscallNames = map[uint64]string{}
