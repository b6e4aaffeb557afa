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

// groupVariable is an environment variable that identifies the members of a group that are no
// longer descendants of its commands.
const groupVariable = "WEIR_GROUP"

// member is a process that belongs to a tree.
type member struct {
	startTime   int64         // distinguishes it from a later process with the same ID
	clock       time.Duration // its CPU clock at the last reading
	startedByUs bool
	// its parent ignores SIGCHLD: the kernel discards its CPU time when it ends
	parentIgnoresChildren bool
	// it ignores SIGCHLD itself: the time of a child that ends between two scans is lost
	ignoresOwnChildren bool
}

// tree is an account without cgroups: members are found by descent and by a variable in their
// environment, and their clocks are summed. countsExited reports whether exited processes are
// counted too, by [exitAccounting].
type tree struct {
	countsExited bool
	variable     string

	mu         sync.Mutex
	members    map[int]*member
	nonMembers map[int]int64 // processes that are not members, by ID, with their start times
	// CPU of exited members; guarded by exitAccounts.mu if countsExited is set
	exitedCPU time.Duration
	// exited members that are counted only as far as they were seen alive
	partlyCounted int
	childIgnorers int // members that ignore SIGCHLD
}

func newWaitTree(name string) (account, error) {
	t := newTree(name)
	t.countsExited = true
	return t, exitAccounts.open(t)
}

func newClockTree(name string) (account, error) { return newTree(name), nil }

func newTree(name string) *tree {
	return &tree{variable: groupVariable + "=" + name, members: map[int]*member{}, nonMembers: map[int]int64{}}
}

// delegate is the advice on getting a more accurate method.
const delegate = "for an exact count run as root, or under: systemd-run --user --scope -p Delegate=yes"

func (t *tree) method() result.AccountingMethod {
	if t.countsExited {
		return result.AccountingMethod{Name: "subreaper and wait", Primary: true,
			About: "the CPU clock of each living process, plus the times that wait returned for the exited (to 10 ms where another process waited); children whose parent ignores SIGCHLD count as far as they were seen alive; " + delegate}
	}
	return result.AccountingMethod{Name: "process CPU clocks", Primary: true,
		About: "the CPU clock of each process when it was last seen alive; misses processes that lived between two readings; " + delegate}
}

func (t *tree) attach(cmd *exec.Cmd) (detach func() error, err error) {
	cmd.Env = append(cmd.Environ(), t.variable)
	if t.countsExited {
		exitAccounts.cpu(t) // assigns the time waited for so far to the other commands
	}
	return func() error {
		if cmd.Process == nil { // it did not start
			return nil
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.members[cmd.Process.Pid] = &member{startTime: startTime(cmd.Process.Pid), startedByUs: true}
		return nil
	}, nil
}

// scan finds the living members, and those that were members at the last scan and have exited. The
// latter stay members until forget is called by the function that counts them.
func (t *tree) scan() (living map[int]procStat, vanished map[int]*member) {
	all := map[int]procStat{}
	for _, pid := range numberedEntries("/proc") {
		if s, ok := readStat(pid); ok {
			all[pid] = s
		}
	}
	living, vanished = map[int]procStat{}, map[int]*member{}
	for pid, m := range t.members {
		if s, ok := all[pid]; !ok || s.start != m.startTime {
			vanished[pid] = m
			delete(all, pid)
		}
	}
	for pid, s := range all {
		if t.belongs(pid, s, all) {
			living[pid] = s
			t.noteChildIgnorer(pid)
		}
	}
	return living, vanished
}

func (t *tree) noteChildIgnorer(pid int) {
	if m := t.members[pid]; t.countsExited && !m.ignoresOwnChildren && ignoresChildren(pid) {
		m.ignoresOwnChildren = true
		t.childIgnorers++
	}
}

// uncounted describes what this account has missed, or may have missed; empty if nothing.
func (t *tree) uncounted() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !t.countsExited:
		return "the CPU that its processes used after they were last seen alive is missing; " + delegate
	case t.partlyCounted > 0:
		return fmt.Sprintf("%d of its processes ended without being waited for and count only as far as they were seen alive; shorter-lived processes are missing; %s", t.partlyCounted, delegate)
	case t.childIgnorers > 0:
		return "it ignores SIGCHLD: its children that lived between two readings are missing; " + delegate
	}
	return ""
}

func (t *tree) forget(vanished map[int]*member) {
	for pid, m := range vanished {
		if m.parentIgnoresChildren {
			t.partlyCounted++
		}
		delete(t.members, pid)
	}
}

// belongs reports whether a process is a member, and makes it one if so. It checks the parents
// first, so that one call decides for a whole line of descent.
func (t *tree) belongs(pid int, s procStat, all map[int]procStat) bool {
	if t.members[pid] != nil {
		return true
	}
	if start, seen := t.nonMembers[pid]; seen && start == s.start || pid == os.Getpid() {
		return false
	}
	parent, known := all[s.parent]
	if known && s.parent != os.Getpid() && t.belongs(s.parent, parent, all) || t.hasVariable(pid) || t.adopted(pid, s) {
		t.members[pid] = &member{startTime: s.start, parentIgnoresChildren: ignoresChildren(s.parent)}
		return true
	}
	t.nonMembers[pid] = s.start
	return false
}

// ignoresChildren reports whether a process ignores SIGCHLD (proc_pid_status(5)).
func ignoresChildren(pid int) bool {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), "\nSigIgn:\t")
	mask, _, _ := strings.Cut(rest, "\n")
	bits, err := strconv.ParseUint(mask, 16, 64)
	return err == nil && bits&(1<<(syscall.SIGCHLD-1)) != 0
}

func (t *tree) hasVariable(pid int) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(append([]byte{0}, env...), []byte("\x00"+t.variable+"\x00"))
}

// adopted reports whether a process is an orphan that became a child of this process and whose
// environment names no other tree: a daemon that forked twice and cleared its environment.
func (t *tree) adopted(pid int, s procStat) bool {
	if !t.countsExited || s.parent != os.Getpid() || s.state == 'Z' || !usesPidfds() {
		return false
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && !bytes.Contains(env, []byte(groupVariable+"=")) && !heldProcesses()[pid]
}

// usesPidfds reports whether os/exec holds a pidfd of each child that it started and has not waited
// for. It does where waitid takes pidfds (Linux 5.4).
var usesPidfds = sync.OnceValue(func() bool {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)                                                        //nolint:errcheck // nothing is lost
	return unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED, nil) == unix.ECHILD // it is no child
})

func (t *tree) cpu() (time.Duration, error) {
	if t.countsExited {
		return exitAccounts.cpu(t), nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	living, vanished := t.scan()
	for _, m := range vanished {
		t.exitedCPU += m.clock
	}
	t.forget(vanished)
	sum := t.exitedCPU
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

// processClock reads a process's CPU clock: nanoseconds of all its threads, including ended ones.
// The clock's ID is computed from the process ID as in clock_getcpuclockid(3).
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

// close kills members until none is left. Their orphans become children of this process and are
// waited for.
func (t *tree) close() error {
	if t.countsExited {
		defer exitAccounts.close(t)
	}
	deadline := time.Now().Add(closeTimeout)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		pids, _ := t.pids()
		if t.countsExited {
			exitAccounts.cpu(t)
		}
		if len(pids) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v cannot be killed", pids)
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(pause)
	}
}
