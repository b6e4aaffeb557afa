package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// run runs a file, and returns the lines of its programs and the status.
func run(t *testing.T, text string) (lines []string, status int) {
	t.Helper()
	f, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	status, err = f.Run(t.Context(), Config{Self: []string{os.Args[0], "guard"}, Line: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return lines, status
}

func needs(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skip(name + " is not installed")
	}
}

// A client that asks a server by name sees a partition, and the server again after it.
func TestAPartitionBetweenPrograms(t *testing.T) {
	needs(t, "python3")
	lines, status := run(t, `
path = "delay=5ms"
[host.server]
service = true
command = ["python3", "-u", "-c", '''
import socket
l = socket.create_server(("", 7000))
while True:
    c, _ = l.accept()
    c.sendall(b"hello")
    c.close()
''']
[host.client]
command = ["python3", "-u", "-c", '''
import socket, time
def ask():
    try:
        with socket.create_connection(("server", 7000), timeout=1) as c:
            return c.recv(9).decode()
    except OSError as e:
        return "no answer"
last = ""
end = time.time() + 20
seen = []
while time.time() < end and len(seen) < 3:
    now = ask()
    if now != last and (now == "hello" or seen):
        seen.append(now)
        print(now)
    last = now
    time.sleep(0.05)
''']
[[fault]]
at = "4s"
partition = [["server"], ["client"]]
[[fault]]
at = "7s"
heal = true
`)
	got := strings.Join(lines, "\n")
	if want := "client | hello\nweir | 4s: partition server | client\nclient | no answer\nweir | 7s: heal\nclient | hello"; got != want || status != 0 {
		t.Errorf("got status %d and\n%s\nwant 0 and\n%s", status, got, want)
	}
}

// The status is that of the program which has failed, and services are ended.
func TestTheStatusIsThatOfAProgram(t *testing.T) {
	lines, status := run(t, `
[host.a]
command = ["sh", "-c", "echo one; exit 3"]
[host.b]
service = true
command = ["sleep", "1000"]
`)
	if got := strings.Join(lines, "\n"); status != 3 || got != "a | one\na | weir: the program has ended with status 3" {
		t.Errorf("got status %d and\n%s\nwant 3 and the output of a", status, got)
	}
}

// Three Redis servers: replicas lose their primary in a partition, and find it again.
func TestAClusterOfThreeServersMeetsAPartition(t *testing.T) {
	needs(t, "redis-server")
	text, err := os.ReadFile("../../docs/networks/redis.toml")
	if err != nil {
		t.Fatal(err)
	}
	lines, status := run(t, string(text))
	var seen []string
	for _, line := range lines {
		if strings.HasPrefix(line, "watch | ") || strings.HasPrefix(line, "weir | ") {
			seen = append(seen, line)
		}
	}
	want := []string{"watch | replicas: up up", "weir | 8s: partition primary | replica1, replica2", "watch | replicas: down down", "weir | 14s: heal", "watch | replicas: up up"}
	if got := strings.Join(seen, "\n"); status != 0 || got != strings.Join(want, "\n") {
		t.Errorf("got status %d and\n%s\nwant 0 and\n%s\nall:\n%s", status, got, strings.Join(want, "\n"), strings.Join(lines, "\n"))
	}
}

// A guard that is killed leaves a process, which has the output: the run ends nevertheless.
func TestTheRunEndsThoughAGuardIsKilled(t *testing.T) {
	needs(t, "setsid")
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	f, err := Parse([]byte("[host.a]\ncommand = [\"sh\", \"-c\", \"setsid sleep 20 & sleep 0.3; kill -9 $PPID\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var ended int
	status, err := f.Run(t.Context(), Config{Self: []string{os.Args[0], "guard"}, Line: func(string) {}, EndOrphans: func() {
		children, _ := filepath.Glob("/proc/self/task/*/children")
		for _, list := range children {
			text, _ := os.ReadFile(list)
			for field := range strings.FieldsSeq(string(text)) {
				pid, _ := strconv.Atoi(field)
				unix.Kill(pid, unix.SIGKILL) //nolint:errcheck // it may have ended
				unix.Wait4(pid, nil, 0, nil) //nolint:errcheck // it was killed
				ended++
			}
		}
	}})
	if status != 1 || err != nil || ended == 0 {
		t.Errorf("got status %d, error %v and %d orphans, want 1, none and some", status, err, ended)
	}
}
