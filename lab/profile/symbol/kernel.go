package symbol

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// ErrHidden is returned by ReadKernel if the kernel shows no addresses.
var ErrHidden = errors.New("the kernel hides its addresses: run as root with the sysctl kernel.kptr_restrict at 0 or 1")

// maxKernelSymbols limits the symbols that are read; a kernel has some 200,000.
const maxKernelSymbols = 2_000_000

// ReadKernel reads the functions of the running kernel and its modules from /proc/kallsyms.
func ReadKernel() (*Table, error) {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil, fmt.Errorf("the kernel's symbols cannot be read: %w", err)
	}
	defer f.Close()
	return parseKernel(f)
}

// parseKernel parses lines "address type name", with a module's name in brackets at the end.
func parseKernel(r io.Reader) (*Table, error) {
	var all []Symbol
	hidden := false
	lines := bufio.NewScanner(r)
	for lines.Scan() && len(all) < maxKernelSymbols {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 || !strings.ContainsAny(fields[1], "tTwW") {
			continue
		}
		addr, err := strconv.ParseUint(fields[0], 16, 64)
		if err != nil {
			continue
		}
		if addr == 0 {
			hidden = true
			continue
		}
		all = append(all, Symbol{Start: addr, Name: cleanName(fields[2])})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("the kernel's symbols cannot be read: %w", err)
	}
	if len(all) == 0 {
		if hidden {
			return nil, ErrHidden
		}
		return nil, errors.New("the kernel has no list of its symbols: build it with CONFIG_KALLSYMS")
	}
	return NewTable(all), nil
}

// systemCallPrefixes start the names of the kernel's functions for system calls. The entry function
// itself (__x64_sys_read) is missing from a stack if it ended in a jump to the next one
// (ksys_read).
var systemCallPrefixes = []string{"__x64_sys_", "__arm64_sys_", "__ia32_sys_", "__riscv_sys_", "__s390x_sys_", "__se_sys_", "ksys_", "__sys_"}

// systemCallParts are functions to which entry functions jump that are named otherwise.
var systemCallParts = map[string]string{
	"do_epoll_wait": "epoll_wait", "do_futex": "futex", "do_fsync": "fsync", "do_readv": "readv", "do_writev": "writev",
	"do_sys_openat2": "openat", "do_sendfile": "sendfile", "do_splice": "splice", "do_sys_poll": "poll", "kernel_clone": "clone",
}

// SystemCall returns the system call that a kernel function implements: "write" for
// "__x64_sys_write"; "" if it implements none.
func SystemCall(function string) string {
	for _, p := range systemCallPrefixes {
		if name, ok := strings.CutPrefix(function, p); ok {
			return strings.TrimPrefix(name, "new")
		}
	}
	name, _, _ := strings.Cut(function, ".") // of a part that the compiler split off
	return systemCallParts[name]
}
