package sample

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Census counts everything that is alive in the group. It costs the caller some 100 us per process.
// Reading PSS also blocks changes of the process's memory map for as long. Do not take a census
// within a measured window.
func (g *Group) Census() (Census, error) {
	pids, err := g.PIDs()
	if err != nil {
		return Census{}, fmt.Errorf("counting the processes of %s: %w", g.name, err)
	}
	slices.Sort(pids)
	var c Census
	for _, pid := range pids {
		c.addProcess(pid)
	}
	return c, nil
}

// addProcess adds one process. If the process ends during the reading, it adds the part that was
// read.
func (c *Census) addProcess(pid int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return
	}
	c.PIDs = append(c.PIDs, pid)
	c.Processes++
	c.RSS += statusField(status, "VmRSS:") << 10
	c.PeakRSS += statusField(status, "VmHWM:") << 10
	if rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)); err == nil {
		c.PSS += statusField(rollup, "Pss:") << 10
	}
	for _, tid := range threads(pid) {
		c.addThread(pid, tid)
	}
}

func (c *Census) addThread(pid, tid int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", pid, tid))
	if err != nil {
		return
	}
	c.Threads++
	c.Voluntary += statusField(status, "voluntary_ctxt_switches:")
	c.Involuntary += statusField(status, "nonvoluntary_ctxt_switches:")
	_, wait, _ := schedstat(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, tid))
	c.RunQueueWait += wait
}

// statusField reads a number from a file of "Name: number" lines, such as /proc/PID/status; 0 if
// the name is missing.
func statusField(text []byte, name string) int64 {
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			if f := bytes.Fields(rest); len(f) > 0 {
				n, _ := strconv.ParseInt(string(f[0]), 10, 64)
				return n
			}
		}
	}
	return 0
}

func threads(pid int) []int {
	return numberedEntries(fmt.Sprintf("/proc/%d/task", pid))
}

// numberedEntries lists the entries of a directory whose names are numbers.
func numberedEntries(dir string) (ns []int) {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	for _, n := range names {
		if id, err := strconv.Atoi(n); err == nil {
			ns = append(ns, id)
		}
	}
	return ns
}

// schedstat reads a thread's /proc/…/schedstat: its time on a core, and its time runnable without a
// core.
func schedstat(file string) (run, wait time.Duration, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, false
	}
	f := strings.Fields(string(text))
	if len(f) != 3 {
		return 0, 0, false
	}
	r, err1 := strconv.ParseInt(f[0], 10, 64)
	w, err2 := strconv.ParseInt(f[1], 10, 64)
	return time.Duration(r), time.Duration(w), err1 == nil && err2 == nil
}
