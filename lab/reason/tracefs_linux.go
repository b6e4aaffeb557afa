package reason

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// tracepoint is an event of the kernel that can be traced.
type tracepoint struct {
	id     uint64 // its number in perf, and the first two bytes of its records
	offset int    // position of the wanted field in a record
	size   int    // 4 or 8
}

// tracepointSet has the tracepoints used.
type tracepointSet struct {
	syscall, wakeup, leave tracepoint
}

func findPoints() (p tracepointSet, err error) {
	dir, unmount, err := tracefs()
	if err != nil {
		return p, err
	}
	defer unmount()
	var errs [3]error
	p.syscall, errs[0] = readPoint(filepath.Join(dir, "raw_syscalls/sys_enter"), "id")
	p.wakeup, errs[1] = readPoint(filepath.Join(dir, "sched/sched_waking"), "pid")
	p.leave, errs[2] = readPoint(filepath.Join(dir, "sched/sched_switch"), "prev_pid")
	return p, errors.Join(errs[:]...)
}

// tracefs finds the kernel's list of tracepoints, and mounts it temporarily if it is not mounted.
func tracefs() (events string, unmount func(), err error) {
	for _, dir := range []string{"/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"} {
		if _, err := os.Stat(filepath.Join(dir, "sched")); err == nil {
			return dir, func() {}, nil
		}
	}
	tmp, err := os.MkdirTemp("", "weir-tracefs-")
	if err != nil {
		return "", nil, err
	}
	if err := unix.Mount("tracefs", tmp, "tracefs", unix.MS_RDONLY, ""); err != nil {
		os.Remove(tmp)
		return "", nil, fmt.Errorf("tracefs cannot be read or mounted (this needs root): %w", err)
	}
	return filepath.Join(tmp, "events"), func() { _ = unix.Unmount(tmp, unix.MNT_DETACH); os.Remove(tmp) }, nil
}

func readPoint(dir, field string) (tracepoint, error) {
	id, err := os.ReadFile(filepath.Join(dir, "id"))
	if err != nil {
		return tracepoint{}, err
	}
	format, err := os.ReadFile(filepath.Join(dir, "format"))
	if err != nil {
		return tracepoint{}, err
	}
	t, ok := parseFormat(string(format), field)
	if t.id, err = strconv.ParseUint(strings.TrimSpace(string(id)), 10, 16); err != nil || !ok {
		return tracepoint{}, fmt.Errorf("%s: its format cannot be parsed", dir)
	}
	return t, nil
}

// parseFormat finds an integer field in a tracepoint's format file, whose lines are "field:TYPE
// NAME; offset:N; size:N; signed:N;".
func parseFormat(text, field string) (t tracepoint, ok bool) {
	for line := range strings.Lines(text) {
		parts := strings.Split(strings.TrimSpace(line), ";")
		if len(parts) < 3 || !strings.HasPrefix(parts[0], "field:") || !strings.HasSuffix(parts[0], " "+field) {
			continue
		}
		offset, found := strings.CutPrefix(strings.TrimSpace(parts[1]), "offset:")
		size, found2 := strings.CutPrefix(strings.TrimSpace(parts[2]), "size:")
		var err1, err2 error
		t.offset, err1 = strconv.Atoi(offset)
		t.size, err2 = strconv.Atoi(size)
		return t, found && found2 && err1 == nil && err2 == nil && t.offset >= 0 && (t.size == 4 || t.size == 8)
	}
	return t, false
}
