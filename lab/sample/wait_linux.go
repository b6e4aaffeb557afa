package sample

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// books is what this process knows of its dead children, for all trees that count by waiting. The
// kernel adds a child's time to its parent's account when the parent waits for it; orphans come to
// us because we are their subreaper, and are waited for here. All that was waited for is in one sum
// (RUSAGE_CHILDREN); its growth goes to the tree that lost somebody.
//
// So with several such trees at once, or other commands of this process that end at the same
// moment, an exit may be booked to the wrong one. Cgroups have no such doubt.
var books waitBooks

type waitBooks struct {
	mu    sync.Mutex    // taken before any tree's
	trees []*tree       // open, oldest first
	seen  time.Duration // RUSAGE_CHILDREN when last looked at
}

func (b *waitBooks) open(t *tree) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trees = append(b.trees, t)
	b.seen = waitedFor()
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

func (b *waitBooks) close(t *tree) {
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

// waitedFor is the CPU time of all children that this process has waited for, and of theirs.
func waitedFor() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cpu brings the books up to date and returns what t has used.
func (b *waitBooks) cpu(t *tree) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	// until nobody was waited for while we looked, so that growth and losses tell the same story
	for {
		before := waitedFor()
		living, loser := b.updateAll(t)
		if now := waitedFor(); now == before || loser != nil {
			if loser != nil {
				loser.exited += now - b.seen
			}
			b.seen = now
			return t.exited + living
		}
	}
}

// updateAll updates every tree. It returns what t's living members have used, and the first tree of
// which a member is gone that the caller of Start has waited for.
func (b *waitBooks) updateAll(t *tree) (living time.Duration, loser *tree) {
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

// update reaps a tree's orphans and returns what its living members have used, and whether a root
// is gone.
func (b *waitBooks) update(t *tree) (living time.Duration, lostRoot bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	members, vanished := t.scan()
	for _, m := range vanished {
		lostRoot = lostRoot || m.root
		if m.alone {
			t.exited += m.clock
		}
	}
	t.forget(vanished)
	for pid, s := range members {
		if s.state == 'Z' && s.parent == os.Getpid() && !t.members[pid].root {
			b.reap(t, pid)
			continue
		}
		living += t.readClock(pid) + waitedForBy(pid)
	}
	b.reapUnknown(t)
	return living, lostRoot
}

// reap waits for an orphan that has come to us and died.
func (b *waitBooks) reap(t *tree, pid int) {
	var u unix.Rusage
	if got, err := unix.Wait4(pid, nil, unix.WNOHANG, &u); err != nil || got != pid {
		return
	}
	used := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	t.exited += used
	b.seen += used
	delete(t.members, pid)
}

// reapUnknown waits for orphans that lived so short that no scan saw them alive. A dead process has
// no environment to tell its tree by, so it is booked to the one that looks. Children that os/exec
// waits for are known by the descriptor that it holds of each (pidfd), and are left alone.
func (b *waitBooks) reapUnknown(t *tree) {
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

// zombieChildren lists our dead children that nobody has waited for.
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

// heldProcesses lists the processes that this one holds a pidfd of (proc_pid_fdinfo(5)).
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

// waitedForBy is the CPU time of the children that a process has waited for, in ticks of 10 ms.
func waitedForBy(pid int) time.Duration {
	s, _ := readStat(pid)
	return time.Duration(s.childUser+s.childSystem) * tick
}

// tick is the unit of times in /proc/PID/stat: USER_HZ, which Linux fixes at 100 a second for all
// programs.
const tick = 10 * time.Millisecond
