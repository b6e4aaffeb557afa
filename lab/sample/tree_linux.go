package sample

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"weir/lab/result"
)

// markName is the environment variable by which processes that left their parents are still known
// as a group's.
const markName = "WEIR_GROUP"

// member is a process that belongs to a tree.
type member struct {
	start int64         // tells it from a later process with the same ID
	clock time.Duration // its CPU clock when last read
	root  bool          // started by us, so waited for by the caller
	alone bool          // its parent ignores SIGCHLD: the kernel will tell nobody what it used
	// it ignores SIGCHLD itself: of a child that ends between two scans nothing is known
	drops bool
}

// tree is an account kept without the kernel's help: the members are found by descent and by a mark
// in their environment, and their clocks are added up. waits says whether what exited is counted
// too, by [waits].
type tree struct {
	waits bool
	mark  string

	mu       sync.Mutex
	members  map[int]*member
	others   map[int]int64 // processes seen not to be members, with their start times
	exited   time.Duration // what members that are gone have used; guarded by books.mu when waits
	partly   int           // members that are gone and count only as far as they were seen alive
	droppers int           // members that were seen to ignore SIGCHLD
}

func newWaitTree(name string) (account, error) {
	t := newTree(name)
	t.waits = true
	return t, books.open(t)
}

func newClockTree(name string) (account, error) { return newTree(name), nil }

func newTree(name string) *tree {
	return &tree{mark: markName + "=" + name, members: map[int]*member{}, others: map[int]int64{}}
}

// delegate says how to get the better ruler.
const delegate = "for an exact count run as root, or under: systemd-run --user --scope -p Delegate=yes"

func (t *tree) ruler() result.Ruler {
	if t.waits {
		return result.Ruler{Name: "subreaper and wait", Truth: true,
			About: "the CPU clock of each living process, and what those that exited were waited for with (to 10 ms where another process waited); children whose parent ignores SIGCHLD count as far as they were seen alive; " + delegate}
	}
	return result.Ruler{Name: "process CPU clocks", Truth: true,
		About: "the CPU clock of each process when it was last seen alive; misses what lived between two readings; " + delegate}
}

func (t *tree) attach(cmd *exec.Cmd) (detach func() error, err error) {
	cmd.Env = append(cmd.Environ(), t.mark)
	if t.waits {
		books.cpu(t) // what was waited for until now is not this command's
	}
	return func() error {
		if cmd.Process == nil { // it didn't start
			return nil
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.members[cmd.Process.Pid] = &member{start: startTime(cmd.Process.Pid), root: true}
		return nil
	}, nil
}

// scan finds the living members, and those that were members at the last scan and are gone. They
// stay members until forget is called, which belongs to the one that books them.
func (t *tree) scan() (living map[int]procStat, vanished map[int]*member) {
	all := map[int]procStat{}
	for _, pid := range numberedEntries("/proc") {
		if s, ok := readStat(pid); ok {
			all[pid] = s
		}
	}
	living, vanished = map[int]procStat{}, map[int]*member{}
	for pid, m := range t.members {
		if s, ok := all[pid]; !ok || s.start != m.start {
			vanished[pid] = m
			delete(all, pid)
		}
	}
	for pid, s := range all {
		if t.belongs(pid, s, all) {
			living[pid] = s
			t.noteDropper(pid)
		}
	}
	return living, vanished
}

func (t *tree) noteDropper(pid int) {
	if m := t.members[pid]; t.waits && !m.drops && ignoresChildren(pid) {
		m.drops = true
		t.droppers++
	}
}

// uncounted says what this account has missed, or may have; empty where it missed nothing.
func (t *tree) uncounted() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !t.waits:
		return "what its processes used after they were last seen alive is missing; " + delegate
	case t.partly > 0:
		return fmt.Sprintf("%d of its processes ended without being waited for and count only as far as they were seen alive; what lived shorter is missing; %s", t.partly, delegate)
	case t.droppers > 0:
		return "it ignores SIGCHLD: children of it that lived for less than a reading are missing; " + delegate
	}
	return ""
}

func (t *tree) forget(vanished map[int]*member) {
	for pid, m := range vanished {
		if m.alone {
			t.partly++
		}
		delete(t.members, pid)
	}
}

// belongs says whether a process is a member, and makes it one if so. Its parents are asked first,
// so that one call settles a whole line of descent.
func (t *tree) belongs(pid int, s procStat, all map[int]procStat) bool {
	if t.members[pid] != nil {
		return true
	}
	if start, seen := t.others[pid]; seen && start == s.start || pid == os.Getpid() {
		return false
	}
	parent, known := all[s.parent]
	if known && s.parent != os.Getpid() && t.belongs(s.parent, parent, all) || t.marked(pid) || t.adopted(pid, s) {
		t.members[pid] = &member{start: s.start, alone: ignoresChildren(s.parent)}
		return true
	}
	t.others[pid] = s.start
	return false
}

// ignoresChildren says whether a process ignores SIGCHLD (proc_pid_status(5)).
func ignoresChildren(pid int) bool {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), "\nSigIgn:\t")
	mask, _, _ := strings.Cut(rest, "\n")
	bits, err := strconv.ParseUint(mask, 16, 64)
	return err == nil && bits&(1<<(syscall.SIGCHLD-1)) != 0
}

func (t *tree) marked(pid int) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(append([]byte{0}, env...), []byte("\x00"+t.mark+"\x00"))
}

// adopted reports whether a process is an orphan that came to us and that no mark names another
// tree for: a daemon that forked twice and cleared its environment.
func (t *tree) adopted(pid int, s procStat) bool {
	if !t.waits || s.parent != os.Getpid() || s.state == 'Z' {
		return false
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	held := heldProcesses()
	return err == nil && !bytes.Contains(env, []byte(markName+"=")) && len(held) > 1 && !held[pid]
}

func (t *tree) cpu() (time.Duration, error) {
	if t.waits {
		return books.cpu(t), nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	living, vanished := t.scan()
	for _, m := range vanished {
		t.exited += m.clock
	}
	t.forget(vanished)
	sum := t.exited
	for pid := range living {
		sum += t.readClock(pid)
	}
	return sum, nil
}

func (t *tree) readClock(pid int) time.Duration {
	if d, ok := processClock(pid); ok {
		t.members[pid].clock = d
	}
	return t.members[pid].clock
}

// processClock reads a process's CPU clock: nanoseconds, all threads, those that have ended
// included. The clock's ID is made of the process ID as clock_getcpuclockid(3) does it.
func processClock(pid int) (time.Duration, bool) {
	var ts unix.Timespec
	const sched = 2 // the scheduler's run time, not ticks
	if err := unix.ClockGettime(int32(^pid<<3|sched), &ts); err != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}

func (t *tree) pids() (pids []int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	living, _ := t.scan()
	for pid, s := range living {
		if s.state != 'Z' && s.state != 'X' {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// close kills members until none is left; those that it orphans come to us and are waited for.
func (t *tree) close() error {
	if t.waits {
		defer books.close(t)
	}
	deadline := time.Now().Add(closeTimeout)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		pids, _ := t.pids()
		if t.waits {
			books.cpu(t)
		}
		if len(pids) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v can't be killed", pids)
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(pause)
	}
}
