package lab

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"weir/lab/result"
)

// congestionFile shows the setting of the network namespace of the process that reads it.
const congestionFile = "/proc/sys/net/ipv4/tcp_congestion_control"

// describeMachine describes the machine of a run and the version of the lab. A value that cannot be
// read stays empty.
func describeMachine(weir string) result.Machine {
	m := result.Machine{
		Kernel:     firstLine("/proc/sys/kernel/osrelease"),
		Cores:      runtime.NumCPU(),
		Congestion: firstLine(congestionFile),
		Versions:   versions(),
		Weir:       weir,
	}
	eachLine("/proc/cpuinfo", func(key, value string) {
		switch key {
		case "model name":
			m.CPU = value
		case "flags":
			m.Hypervisor = strings.Contains(" "+value+" ", " hypervisor ")
		}
	})
	eachLine("/proc/meminfo", func(key, value string) {
		if kb, err := strconv.Atoi(strings.TrimSuffix(value, " kB")); err == nil && key == "MemTotal" {
			m.MemoryMB = kb / 1024
		}
	})
	return m
}

// versions returns the versions of the toolchains that build subjects.
func versions() []string {
	found := []string{runtime.Version()}
	for _, c := range [][]string{{"cc", "--version"}, {"rustc", "--version"}, {"node", "--version"}, {"python3", "--version"}} {
		out, err := exec.Command(c[0], c[1:]...).Output()
		if line, _, _ := strings.Cut(string(out), "\n"); err == nil && line != "" {
			if c[0] == "node" {
				line = "node " + line
			}
			found = append(found, line)
		}
	}
	return found
}

func firstLine(file string) string {
	b, _ := os.ReadFile(file)
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

// eachLine passes the "key: value" lines of a file of /proc to f.
func eachLine(file string, f func(key, value string)) {
	in, err := os.Open(file)
	if err != nil {
		return
	}
	defer in.Close()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok {
			f(strings.TrimSpace(key), strings.TrimSpace(value))
		}
	}
}
