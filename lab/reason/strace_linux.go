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

// attachTime bounds the wait for strace to hold all processes.
const attachTime = 5 * time.Second

// tracer watches by strace -f -c.
type tracer struct {
	cmd   *exec.Cmd
	table string        // the file that it writes when it ends
	said  chan struct{} // closed when its standard error has ended
	note  string
}

func strace(g *sample.Group) (*tracer, error) {
	path, err := exec.LookPath("strace")
	if err != nil {
		return nil, errors.New("it isn't installed (apt-get install strace)")
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
	t := &tracer{cmd: exec.Command(path, args...), table: table.Name(), said: make(chan struct{})}
	if err := t.attach(len(pids)); err != nil {
		_, stopErr := t.stop()
		return nil, errors.Join(err, stopErr)
	}
	return t, nil
}

// attach starts strace and waits until it holds as many processes as it was told.
func (t *tracer) attach(processes int) error {
	stderr, err := t.cmd.StderrPipe()
	if err == nil {
		err = t.cmd.Start()
	}
	if err != nil {
		close(t.said)
		return err
	}
	attached := make(chan error, 1) // from the listening goroutine: all are held, or why not
	go t.listen(bufio.NewScanner(stderr), processes, attached)
	select {
	case err := <-attached:
		return err
	case <-time.After(attachTime):
		return errors.New("it did not attach in time")
	}
}

// listen reads strace's standard error until it ends.
func (t *tracer) listen(s *bufio.Scanner, processes int, attached chan<- error) {
	defer close(t.said)
	last := "it ended without a word"
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
	_ = t.cmd.Process.Signal(syscall.SIGINT) // it detaches, writes its table and ends
	<-t.said
	_ = t.cmd.Wait() // it ends by the signal that it was sent
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

// parseTable reads strace -c's table: % time, seconds, usecs/call, calls, errors (may be empty),
// name.
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
