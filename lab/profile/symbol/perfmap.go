package symbol

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	maxMapBytes   = 64 << 20
	maxMapSymbols = 1_000_000
)

// ReadPerfMap reads the map of a process's compiled code. The process writes it: V8 with
// --perf-basic-prof, a JVM by jcmd PID Compiler.perfmap. The file is /tmp/perf-PID.map with the
// process's number and root folder in its own container. All users of the machine may write there,
// so it is an error if the file is not a regular one, or another user's.
func ReadPerfMap(pid int) (*Table, error) {
	name := fmt.Sprintf("/proc/%d/root/tmp/perf-%d.map", pid, innerPID(pid))
	// without O_NONBLOCK a named pipe would be waited for
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := checkOwner(f, pid); err != nil {
		return nil, err
	}
	return parsePerfMap(io.LimitReader(f, maxMapBytes)), nil
}

// checkOwner returns an error unless f is a regular file of root, of this process's user or of that
// of the process pid.
func checkOwner(f *os.File, pid int) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.Mode().IsRegular() || !ok {
		return fmt.Errorf("%s is no regular file", f.Name())
	}
	if uid := int(owner.Uid); uid == 0 || uid == os.Geteuid() {
		return nil
	}
	process, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return err
	}
	if user, ok := process.Sys().(*syscall.Stat_t); !ok || user.Uid != owner.Uid {
		return fmt.Errorf("%s is another user's", f.Name())
	}
	return nil
}

// innerPID returns a process's number in its own namespace.
func innerPID(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return pid
	}
	_, rest, _ := strings.Cut(string(text), "\nNSpid:")
	line, _, _ := strings.Cut(rest, "\n")
	if fields := strings.Fields(line); len(fields) > 0 {
		if n, err := strconv.Atoi(fields[len(fields)-1]); err == nil {
			return n
		}
	}
	return pid
}

// parsePerfMap parses lines "start size name", both numbers hexadecimal. Malformed lines are left
// out. Code that was compiled to the place of other code is a later line, which counts.
func parsePerfMap(r io.Reader) *Table {
	var all []Symbol
	lines := bufio.NewReaderSize(r, 4096)
	for len(all) < maxMapSymbols {
		line, err := lines.ReadString('\n')
		fields := strings.SplitN(strings.TrimRight(line, "\r\n"), " ", 3)
		if len(fields) == 3 {
			start, err1 := strconv.ParseUint(strings.TrimPrefix(fields[0], "0x"), 16, 64)
			size, err2 := strconv.ParseUint(strings.TrimPrefix(fields[1], "0x"), 16, 64)
			if err1 == nil && err2 == nil && size > 0 && start+size > start {
				all = append(all, Symbol{start, start + size, cleanName(cleanJIT(fields[2]))})
			}
		}
		if err != nil {
			return NewTable(all)
		}
	}
	return NewTable(all)
}

// cleanJIT removes what differs between two processes from the name of compiled code: V8's marks
// of the compiler ("JS:*handle /srv/server.js:3:5").
func cleanJIT(name string) string {
	rest, ok := strings.CutPrefix(name, "JS:")
	if !ok {
		return name
	}
	rest = strings.TrimLeft(rest, "*~^+'")
	function, place, _ := strings.Cut(rest, " ")
	if place == "" {
		return rest
	}
	return function + " (" + filepath.Base(place) + ")"
}
