package sample

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// procStat is the part of /proc/PID/stat (proc_pid_stat(5)) that the lab uses.
type procStat struct {
	name   string
	state  byte  // R, S, D, Z, ...
	parent int   // process ID
	user   int64 // ticks of 1/100 s, as are the other times
	system int64
	// used by the children that it has waited for
	childUser, childSystem int64
	start                  int64 // ticks after boot
}

func readStat(pid int) (procStat, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return procStat{}, false
	}
	return parseStat(string(text))
}

// parseStat parses the text of /proc/PID/stat. The name is in parentheses and may contain blanks
// and parentheses, so fields are counted from the last one.
func parseStat(text string) (procStat, bool) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return procStat{}, false
	}
	f := strings.Fields(text[end+1:])
	if len(f) < 20 || len(f[0]) != 1 {
		return procStat{}, false
	}
	s := procStat{name: text[open+1 : end], state: f[0][0]}
	var ok [6]bool
	var parent int64
	parent, ok[0] = number(f[1])
	s.user, ok[2] = number(f[11])
	s.system, ok[3] = number(f[12])
	s.start, ok[4] = number(f[19])
	s.childUser, ok[5] = number(f[13])
	s.childSystem, ok[1] = number(f[14])
	s.parent = int(parent)
	return s, ok == [6]bool{true, true, true, true, true, true}
}

func number(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// startTime returns when a process started, in ticks after boot; 0 if there is no such process.
func startTime(pid int) int64 {
	s, _ := readStat(pid)
	return s.start
}
