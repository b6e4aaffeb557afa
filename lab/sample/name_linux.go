package sample

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
)

// groups counts the groups of this process.
var groups atomic.Int64

// groupName returns the name of a group's cgroup: weir-PIDNS-PID-START-N-NAME. By the start time a
// later lab determines whether the creator has exited, because the process ID alone could have been
// reused.
func groupName(name string) string {
	clean := regexp.MustCompile(`[^A-Za-z0-9_+]+`).ReplaceAllString(name, "_")
	pid := os.Getpid()
	return fmt.Sprintf("weir-%s-%d-%d-%d-%s", pidNamespace(), pid, startTime(pid), groups.Add(1), clean[:min(len(clean), 64)])
}

func pidNamespace() string {
	link, _ := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	return strings.Trim(link, "pid:[]")
}

// abandoned reports whether a group of this name was left behind by a lab that has exited. Names of
// other PID namespaces cannot be checked and are not abandoned.
func abandoned(name string) bool {
	parts := strings.SplitN(name, "-", 6)
	if len(parts) != 6 || parts[0] != "weir" || parts[1] != pidNamespace() {
		return false
	}
	pid, err1 := strconv.Atoi(parts[2])
	start, err2 := strconv.ParseInt(parts[3], 10, 64)
	return err1 == nil && err2 == nil && startTime(pid) != start
}

// removeStale removes the groups in dir that exited labs left behind, with the processes in them. A
// failure is not reported: the next lab tries again.
func removeStale(dir string) {
	entries, _ := filepath.Glob(filepath.Join(dir, "weir-*"))
	for _, e := range entries {
		if abandoned(filepath.Base(e)) {
			_ = removeCgroup(e)
		}
	}
}
