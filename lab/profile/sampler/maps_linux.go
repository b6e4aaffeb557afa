package sampler

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// maxMappings limits the mappings of a process; a process can have 65,530.
const maxMappings = 10_000

// readMaps returns the executable mappings of a living process; nil if it has ended.
func readMaps(pid int) []Mapping {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil
	}
	return parseMaps(string(text))
}

// parseMaps parses /proc/PID/maps (proc(5)): "start-end perms offset dev inode path". Lines that
// are not executable, or not of this form, are left out.
func parseMaps(text string) (all []Mapping) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 5 || len(fields[1]) < 3 || fields[1][2] != 'x' || len(all) == maxMappings {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		start, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		offset, err3 := strconv.ParseUint(fields[2], 16, 64)
		if err1 != nil || err2 != nil || err3 != nil || start >= end {
			continue
		}
		m := Mapping{Start: start, End: end, Offset: offset}
		if len(fields) > 5 { // a path may contain spaces
			m.Path, m.Deleted = strings.CutSuffix(strings.TrimRight(line[strings.Index(line, fields[5]):], "\n"), " (deleted)")
		}
		all = append(all, m)
	}
	return all
}
