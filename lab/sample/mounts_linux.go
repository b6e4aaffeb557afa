package sample

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hierarchy is a mounted cgroup hierarchy: v2, or v1 with some controllers.
type hierarchy struct {
	mount string // its mount point
	own   string // this process's cgroup in it, as a path below mount
}

// findHierarchy finds the cgroup hierarchy with a v1 controller, or the v2 one if controller is
// empty.
func findHierarchy(controller string) (hierarchy, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return hierarchy{}, err
	}
	root, mount, ok := cgroupMount(string(mounts), controller)
	if !ok {
		return hierarchy{}, fmt.Errorf("no cgroup %s hierarchy is mounted", versionName(controller))
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return hierarchy{}, err
	}
	path := cgroupPath(string(own), controller)
	if root != "/" { // a container sees a part of the hierarchy, but paths from its top
		path = strings.TrimPrefix(path, root)
	}
	return hierarchy{mount, filepath.Join(mount, path)}, nil
}

func versionName(controller string) string {
	if controller == "" {
		return "v2"
	}
	return "v1 " + controller
}

// cgroupMount finds a hierarchy in the text of /proc/PID/mountinfo (proc_pid_mountinfo(5)). It
// returns which part of it is mounted, and the mount point.
func cgroupMount(mountinfo, controller string) (root, mount string, ok bool) {
	for line := range strings.Lines(mountinfo) {
		before, after, found := strings.Cut(line, " - ")
		fields, fs := strings.Fields(before), strings.Fields(after)
		if !found || len(fields) < 5 || len(fs) < 3 {
			continue
		}
		v2 := controller == "" && fs[0] == "cgroup2"
		v1 := controller != "" && fs[0] == "cgroup" && slices.Contains(strings.Split(fs[2], ","), controller)
		if v1 || v2 {
			return fields[3], fields[4], true
		}
	}
	return "", "", false
}

// cgroupPath finds a process's cgroup in the text of /proc/PID/cgroup (cgroups(7)), whose lines are
// ID:CONTROLLERS:PATH.
func cgroupPath(text, controller string) string {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && slices.Contains(strings.Split(parts[1], ","), controller) {
			return parts[2]
		}
	}
	return "/"
}
