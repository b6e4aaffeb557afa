package reason

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"weir/lab/sample"
)

// attachTimeout bounds the wait for strace to attach to all processes.
const attachTimeout = 5 * time.Second

// tracer traces by strace -f -c.
type tracer struct {
	cmd         *exec.Cmd
	table       string        // the file that strace writes at its end
	stderrEnded chan struct{} // closed at the end of its standard error
	note        string
}

func strace(g *sample.Group) (*tracer, error) {
	path, err := exec.LookPath("strace")
	if err != nil {
		return nil, errors.New("it is not installed (apt-get install strace)")
	}
	pids, err := g.PIDs()
	if err != nil || len(pids) == 0 {
		return nil, errors.Join(errors.New("the group has no process to attach to"), err)
	}
	table, err := os.CreateTemp("", "weir-strace-")
	if err != nil {
		return nil, err
	}
	table.Close()
	args := []string{"-f", "-c", "-o", table.Name()}
	for _, pid := range pids {
		args = append(args, "-p", strconv.Itoa(pid))
	}
	t := &tracer{cmd: exec.Command(path, args...), table: table.Name(), stderrEnded: make(chan struct{})}
	if err := t.attach(len(pids)); err != nil {
		_, stopErr := t.stop()
		return nil, errors.Join(err, stopErr)
	}
	return t, nil
}

// attach starts strace and waits until it is attached to the given number of processes.
func (t *tracer) attach(processes int) error {
	stderr, err := t.cmd.StderrPipe()
	if err == nil {
		err = t.cmd.Start()
	}
	if err != nil {
		close(t.stderrEnded)
		return err
	}
	// one result, from the listening goroutine: nil if attached to all
	attached := make(chan error, 1)
	go t.listen(bufio.NewScanner(stderr), processes, attached)
	select {
	case err := <-attached:
		return err
	case <-time.After(attachTimeout):
		return errors.New("it did not attach in time")
	}
}

// listen reads strace's standard error to its end.
func (t *tracer) listen(s *bufio.Scanner, processes int, attached chan<- error) {
	defer close(t.stderrEnded)
	last := "it exited without a message"
	for s.Scan() {
		last = s.Text()
		if strings.HasSuffix(last, " attached") || strings.Contains(last, " attached with ") {
			if processes--; processes == 0 {
				attached <- nil
			}
		}
	}
	if processes > 0 {
		attached <- errors.New(last)
	}
}

func (t *tracer) stop() (Counts, error) {
	defer os.Remove(t.table)
	if t.cmd.Process == nil {
		return Counts{}, nil
	}
	_ = t.cmd.Process.Signal(syscall.SIGINT) // strace detaches, writes its table and exits
	<-t.stderrEnded
	_ = t.cmd.Wait() // it exits by the signal
	text, err := os.ReadFile(t.table)
	if err != nil {
		return Counts{}, fmt.Errorf("strace left no table: %w", err)
	}
	c := Counts{Tool: "strace", ByName: parseTable(string(text)), Wakeups: -1, Switches: -1, Note: t.note}
	for _, n := range c.ByName {
		c.Syscalls += n
	}
	return c, nil
}

// parseTable parses the table of strace -c: % time, seconds, usecs/call, calls, errors (may be
// empty), name.
func parseTable(text string) map[string]int64 {
	calls := map[string]int64{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 5 && len(f) != 6 {
			continue
		}
		n, err := strconv.ParseInt(f[3], 10, 64)
		name := f[len(f)-1]
		if err != nil || n < 0 || name == "total" || strings.HasPrefix(name, "-") {
			continue
		}
		calls[name] += n
	}
	return calls
}
