package sample

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/lab/result"
)

// ReadMachine reads the machine's counters. It reads the clock of every process, which takes about
// 2 us each.
func ReadMachine() (Machine, error) {
	m := Machine{At: Monotonic(), clocks: map[int]time.Duration{}}
	for _, pid := range numberedEntries("/proc") {
		if d, ok := processClock(pid); ok {
			m.clocks[pid] = d
		}
	}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return m, fmt.Errorf("reading the machine's CPU account: %w", err)
	}
	var busy time.Duration
	busy, m.Steal = parseMachineStat(string(stat))
	m.CPU, m.Exact = machineUsage()
	if !m.Exact {
		m.CPU = busy
	}
	if text, err := os.ReadFile("/proc/pressure/cpu"); err == nil {
		m.Stalled, m.Pressure = parsePressure(string(text)), true
	}
	return m, nil
}

// MachineMethod describes how ReadMachine counts CPU on this machine.
func MachineMethod() result.AccountingMethod {
	if _, err := os.Stat(rootUsageFile()); err == nil {
		return result.AccountingMethod{Name: "cgroup v1 cpuacct.usage of the root", Primary: true,
			About: "the scheduler's nanosecond run times of everything on the machine"}
	}
	if _, ok := topCgroups(); ok {
		return result.AccountingMethod{Name: "cgroup v2 cpu.stat of the top cgroups, and the clocks of the root's processes", Primary: true,
			About: "the scheduler's run times of everything on the machine; the root's own cpu.stat counts ticks and is not used"}
	}
	return result.AccountingMethod{Name: "/proc/stat", About: "ticks of the whole machine: inaccurate for work that is shorter than a tick"}
}

func rootUsageFile() string {
	h, err := findHierarchy("cpuacct")
	if err != nil {
		return ""
	}
	return filepath.Join(h.mount, "cpuacct.usage")
}

// machineUsage returns the run time of everything on the machine, if there is a counter that does
// not use ticks.
func machineUsage() (time.Duration, bool) {
	if text, err := os.ReadFile(rootUsageFile()); err == nil {
		ns, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		return time.Duration(ns), err == nil
	}
	return topCgroups()
}

// topCgroups returns the sum of the v2 cgroups directly below the root and the processes (mostly
// kernel threads) that are in none of them.
func topCgroups() (sum time.Duration, ok bool) {
	h, err := findHierarchy("")
	if err != nil {
		return 0, false
	}
	if _, err := os.Stat(filepath.Join(h.mount, "cgroup.events")); err == nil {
		// only the root has no such file: this is a container's part of the hierarchy
		return 0, false
	}
	files, _ := filepath.Glob(filepath.Join(h.mount, "*", "cpu.stat"))
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil {
			cpu, _ := parseCPUStat(text)
			sum += cpu
		}
	}
	procs, err := os.ReadFile(filepath.Join(h.mount, "cgroup.procs"))
	for _, pid := range parsePIDs(string(procs)) {
		cpu, _ := processClock(pid)
		sum += cpu
	}
	return sum, err == nil
}

// parseMachineStat parses the first line of /proc/stat (proc_stat(5)): the non-idle time of all
// cores, and the time that the hypervisor took.
func parseMachineStat(text string) (busy, steal time.Duration) {
	line, _, _ := strings.Cut(text, "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return 0, 0
	}
	for i, s := range f[1:8] { // user nice system idle iowait irq softirq; steal follows
		if n, ok := number(s); ok && i != 3 && i != 4 {
			busy += time.Duration(n) * tick
		}
	}
	n, _ := number(f[8])
	return busy, time.Duration(n) * tick
}

// parsePressure parses the total of the "some" line of /proc/pressure/cpu, in microseconds.
func parsePressure(text string) time.Duration {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "some "); ok {
			if _, total, ok := strings.Cut(strings.TrimSpace(rest), "total="); ok {
				us, _ := number(total)
				return time.Duration(us) * time.Microsecond
			}
		}
	}
	return 0
}

// Neighbours lists the processes that are not ours and used CPU between two readings, the largest
// first. Processes that started and ended in between are not listed. Their CPU is what the machine
// used beyond all groups and neighbours.
func Neighbours(before, after Machine, ours func(pid int) bool) (ns []Neighbour) {
	for pid, clock := range after.clocks {
		used := clock - before.clocks[pid]
		if used < 0 {
			used = clock // the ID was reused by another process
		}
		if used < 100*time.Microsecond || ours(pid) {
			continue
		}
		s, _ := readStat(pid)
		ns = append(ns, Neighbour{pid, s.name, used})
	}
	slices.SortFunc(ns, func(a, b Neighbour) int { return cmp.Compare(b.CPU, a.CPU) })
	return ns
}
