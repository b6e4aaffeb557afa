package sample

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// exitAccounts counts the CPU of exited children of this process, for all trees that count by
// waiting. The kernel adds a child's time to its parent's counter when the parent waits for it.
// Orphans become children of this process, because it is their subreaper, and are waited for here.
// All these times are in one sum (RUSAGE_CHILDREN). Its increase is assigned to the tree that lost
// a member.
//
// With several such trees at once, or other commands of this process that exit at the same moment,
// a time may therefore be assigned to the wrong tree. Cgroups do not have this limitation.
var exitAccounts exitAccounting

type exitAccounting struct {
	mu            sync.Mutex    // locked before the mutex of a tree
	trees         []*tree       // open, oldest first
	lastWaitedFor time.Duration // RUSAGE_CHILDREN at the last reading
}

func (b *exitAccounting) open(t *tree) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trees = append(b.trees, t)
	b.lastWaitedFor = waitedFor()
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

func (b *exitAccounting) close(t *tree) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.trees {
		if b.trees[i] == t {
			b.trees = append(b.trees[:i], b.trees[i+1:]...)
			break
		}
	}
	if len(b.trees) == 0 {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}
}

// waitedFor returns the CPU time of all children that this process has waited for, and of theirs.
func waitedFor() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cpu updates all counts and returns what t has used.
func (b *exitAccounting) cpu(t *tree) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	// repeat until no child was waited for during the scan, so that increase and losses are
	// consistent
	for {
		before := waitedFor()
		living, loser := b.updateAll(t)
		if now := waitedFor(); now == before || loser != nil {
			if loser != nil {
				loser.exitedCPU += now - b.lastWaitedFor
			}
			b.lastWaitedFor = now
			return t.exitedCPU + living
		}
	}
}

// updateAll updates every tree. It returns the CPU of t's living members, and the first tree that
// has lost a member for which the caller of Start has waited.
func (b *exitAccounting) updateAll(t *tree) (living time.Duration, loser *tree) {
	for _, each := range b.trees {
		sum, lost := b.update(each)
		if each == t {
			living = sum
		}
		if lost && loser == nil {
			loser = each
		}
	}
	return living, loser
}

// update reaps a tree's orphans. It returns the CPU of its living members, and whether a root has
// exited.
func (b *exitAccounting) update(t *tree) (living time.Duration, lostRoot bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	members, vanished := t.scan()
	for _, m := range vanished {
		lostRoot = lostRoot || m.startedByUs
		if m.parentIgnoresChildren {
			t.exitedCPU += m.clock
		}
	}
	t.forget(vanished)
	for pid, s := range members {
		if s.state == 'Z' && s.parent == os.Getpid() && !t.members[pid].startedByUs {
			b.reap(t, pid)
			continue
		}
		living += t.readClock(pid) + waitedForBy(pid)
	}
	b.reapUnknown(t)
	return living, lostRoot
}

// reap waits for an exited orphan that became a child of this process.
func (b *exitAccounting) reap(t *tree, pid int) {
	var u unix.Rusage
	if got, err := unix.Wait4(pid, nil, unix.WNOHANG, &u); err != nil || got != pid {
		return
	}
	used := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	t.exitedCPU += used
	b.lastWaitedFor += used
	delete(t.members, pid)
}

// reapUnknown waits for orphans that exited before any scan saw them alive. An exited process has
// no environment that identifies its tree, so its time goes to the tree that scans. Children that
// os/exec waits for are identified by its pidfds, and are not touched.
func (b *exitAccounting) reapUnknown(t *tree) {
	var held map[int]bool
	for _, pid := range zombieChildren() {
		if t.members[pid] != nil {
			continue
		}
		if held == nil {
			held = heldProcesses()
		}
		if len(held) > 0 && !held[pid] {
			b.reap(t, pid)
		}
	}
}

// zombieChildren lists the exited children of this process that have not been waited for.
func zombieChildren() (pids []int) {
	files, _ := filepath.Glob("/proc/self/task/*/children")
	for _, f := range files {
		text, _ := os.ReadFile(f)
		for _, pid := range parsePIDs(string(text)) {
			if s, ok := readStat(pid); ok && s.state == 'Z' {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// heldProcesses lists the processes that this one has a pidfd of (proc_pid_fdinfo(5)).
func heldProcesses() map[int]bool {
	held := map[int]bool{os.Getpid(): true}
	for _, fd := range numberedEntries("/proc/self/fdinfo") {
		info, err := os.ReadFile(filepath.Join("/proc/self/fdinfo", strconv.Itoa(fd)))
		if err == nil {
			if pid := statusField(info, "Pid:"); pid > 0 {
				held[int(pid)] = true
			}
		}
	}
	return held
}

// waitedForBy returns the CPU time of the children that a process has waited for, in ticks of 10
// ms.
func waitedForBy(pid int) time.Duration {
	s, _ := readStat(pid)
	return time.Duration(s.childUser+s.childSystem) * tick
}

// tick is the unit of times in /proc/PID/stat: USER_HZ, which is 100 a second for all programs on
// Linux.
const tick = 10 * time.Millisecond
