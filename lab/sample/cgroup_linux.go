package sample

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"weir/lab/result"
)

// cgroup is an account that uses a cgroup of its own. dir and usage do not change after creation.
type cgroup struct {
	v2     bool
	dir    string
	handle *os.File // v2: the open directory, in which children are created
	usage  *os.File // cpu.stat or cpuacct.usage
	home   string   // v1: the cgroup to which a borrowed thread returns
}

func newCgroupV2(name string) (account, error) {
	h, err := findHierarchy("")
	if err != nil {
		return nil, err
	}
	c := &cgroup{v2: true}
	if c.dir, err = makeCgroup(h, name); err != nil {
		return nil, err
	}
	if c.handle, err = os.Open(c.dir); err == nil {
		c.usage, err = os.Open(filepath.Join(c.dir, "cpu.stat"))
	}
	return c, c.abandonIf(err)
}

func newCgroupV1(name string) (account, error) {
	h, err := findHierarchy("cpuacct")
	if err != nil {
		return nil, err
	}
	c := &cgroup{home: h.own}
	if c.dir, err = makeCgroup(h, name); err != nil {
		return nil, err
	}
	c.usage, err = os.Open(filepath.Join(c.dir, "cpuacct.usage"))
	return c, c.abandonIf(err)
}

// abandonIf removes an incomplete cgroup if err is not nil.
func (c *cgroup) abandonIf(err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(err, c.close())
}

// makeCgroup creates a cgroup at the top of the hierarchy. Where that is not permitted, it creates
// it below this process's cgroup or the nearest parent that is delegated to this user.
func makeCgroup(h hierarchy, name string) (string, error) {
	var first error
	for _, parent := range append([]string{h.mount}, upwards(h)...) {
		removeStale(parent)
		dir := filepath.Join(parent, name)
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			return dir, nil
		}
		if first == nil {
			first = err
		}
	}
	return "", first
}

// upwards lists this process's cgroup and its parents, without the top.
func upwards(h hierarchy) (dirs []string) {
	for dir := h.own; len(dir) > len(h.mount); dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}

func (c *cgroup) method() result.AccountingMethod {
	r := result.AccountingMethod{Name: "cgroup v1 cpuacct.usage", Primary: true,
		About: "the scheduler's nanosecond run times of the whole process tree, however its members exit"}
	if c.v2 {
		r.Name = "cgroup v2 cpu.stat"
	}
	return r
}

// attach makes the next child of the calling thread a member. The thread must be locked.
func (c *cgroup) attach(cmd *exec.Cmd) (detach func() error, err error) {
	if c.v2 {
		cmd.SysProcAttr.UseCgroupFD = true
		cmd.SysProcAttr.CgroupFD = int(c.handle.Fd())
		return func() error { return nil }, nil
	}
	// v1 moves single threads, and a child starts in the cgroup of the thread that forked it
	tid := []byte(strconv.Itoa(unix.Gettid()))
	detach = func() error { return os.WriteFile(filepath.Join(c.home, "tasks"), tid, 0) }
	return detach, os.WriteFile(filepath.Join(c.dir, "tasks"), tid, 0)
}

func (c *cgroup) cpu() (time.Duration, error) {
	buf := make([]byte, 512)
	n, err := c.usage.ReadAt(buf, 0)
	if n == 0 {
		return 0, fmt.Errorf("reading the CPU account %s: %w", c.usage.Name(), err)
	}
	if !c.v2 {
		ns, err := strconv.ParseInt(string(bytes.TrimSpace(buf[:n])), 10, 64)
		return time.Duration(ns), err
	}
	return parseCPUStat(buf[:n])
}

// parseCPUStat reads usage_usec from the text of a v2 cpu.stat.
func parseCPUStat(text []byte) (time.Duration, error) {
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("usage_usec ")); ok {
			us, err := strconv.ParseInt(string(bytes.TrimSpace(rest)), 10, 64)
			if err != nil || us < 0 || us > int64(1<<63-1)/1000 {
				return 0, fmt.Errorf("cpu.stat has an invalid usage_usec: %q", bytes.TrimSpace(line))
			}
			return time.Duration(us) * time.Microsecond, nil
		}
	}
	return 0, errors.New("cpu.stat has no usage_usec line")
}

func (c *cgroup) uncounted() string { return "" }

func (c *cgroup) pids() ([]int, error) {
	text, err := os.ReadFile(filepath.Join(c.dir, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	return parsePIDs(string(text)), nil
}

func parsePIDs(text string) (pids []int) {
	for f := range strings.FieldsSeq(text) {
		if pid, err := strconv.Atoi(f); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (c *cgroup) close() error {
	for _, f := range []*os.File{c.usage, c.handle} {
		if f != nil {
			f.Close()
		}
	}
	return removeCgroup(c.dir)
}

// closeTimeout bounds the wait for killed processes to exit. A process in an uninterruptible wait
// can take longer. Close then returns an error, and the next lab removes the cgroup.
const closeTimeout = 10 * time.Second

// removeCgroup kills the processes in the cgroup until it is empty. Then it removes it and the
// cgroups below it.
func removeCgroup(dir string) error {
	deadline := time.Now().Add(closeTimeout)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		killCgroup(dir)
		err := removeTree(dir)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if time.Now().After(deadline) {
			left, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
			return fmt.Errorf("removing the cgroup %s: %w (processes left in it: %v); remove it with rmdir when they are gone", dir, err, parsePIDs(string(left)))
		}
		time.Sleep(pause)
	}
}

// killCgroup kills every member once. Members that are forked during the call are killed by the
// next call. With cgroup.kill (v2 since Linux 5.14) none is missed.
func killCgroup(dir string) {
	if os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0) == nil {
		return
	}
	below, _ := filepath.Glob(filepath.Join(dir, "*", "cgroup.procs"))
	for _, file := range append(below, filepath.Join(dir, "cgroup.procs")) {
		text, _ := os.ReadFile(file)
		for _, pid := range parsePIDs(string(text)) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func removeTree(dir string) error {
	below, _ := filepath.Glob(filepath.Join(dir, "*", "cgroup.procs"))
	for _, file := range below {
		if err := removeTree(filepath.Dir(file)); err != nil {
			return err
		}
	}
	return syscall.Rmdir(dir)
}
