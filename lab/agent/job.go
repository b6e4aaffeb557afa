package agent

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"weir/internal/tail"
)

// killTimeout is how long a killed load may take to end.
const killTimeout = 3 * time.Second

// job is a running load generator. The agent's goroutine owns it. A second goroutine, which ends
// with the process, publishes its events.
type job struct {
	session  int64
	cmd      *exec.Cmd
	stdin    io.WriteCloser
	stderr   *tail.Buffer
	dir      string // of the files of the load; empty: it has none
	publish  func(eventMessage)
	done     chan struct{} // closed when the process has ended and its last event is published
	measured bool          // the command to measure was given
	stopped  bool          // the command to stop was given
	killed   atomic.Bool   // by the agent itself
}

// startJob starts the load of a request. The command line is that of weir load.
func startJob(command []string, r request, publish func(eventMessage)) (*job, error) {
	dir, args := "", r.Args
	if len(r.Files) > 0 {
		var err error
		if dir, err = os.MkdirTemp("", "weir-agent-"); err == nil {
			args, err = (&Share{r.Args, r.Files}).write(dir)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cannot write the files of the load: %w", err), os.RemoveAll(dir))
		}
	}
	j, err := runJob(slices.Concat(command, steered(args)), r.Session, dir, publish)
	if err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("cannot start the load generator: %w", err)
	}
	return j, nil
}

// runJob starts a command, whose files are in dir.
func runJob(argv []string, session int64, dir string, publish func(eventMessage)) (*job, error) {
	j := &job{session: session, cmd: exec.Command(argv[0], argv[1:]...), stderr: tail.New(maxText / 2), dir: dir, publish: publish, done: make(chan struct{})}
	j.cmd.Stderr = j.stderr
	j.cmd.SysProcAttr = dieWithAgent()
	j.cmd.WaitDelay = killTimeout / 2
	stdout, err := j.cmd.StdoutPipe()
	if err == nil {
		j.stdin, err = j.cmd.StdinPipe()
	}
	if err == nil {
		err = j.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	go j.read(stdout)
	return j, nil
}

// read publishes the generator's events and then its exit.
func (j *job) read(stdout io.Reader) {
	defer close(j.done)
	seq := int64(0)
	publish := func(m eventMessage) {
		seq++
		m.Session, m.Seq = j.session, seq
		j.publish(m)
	}
	lines := bufio.NewScanner(stdout)
	lines.Buffer(make([]byte, 64<<10), maxMessage/2)
	var invalid error
	for invalid == nil && lines.Scan() {
		var e Event
		if invalid = errors.Join(json.Unmarshal(lines.Bytes(), &e), e.check()); invalid == nil {
			publish(eventMessage{Event: e})
		}
	}
	if invalid = cmp.Or(invalid, lines.Err()); invalid != nil {
		j.cmd.Process.Kill() //nolint:errcheck // it has ended otherwise
	}
	err := j.cmd.Wait()
	os.RemoveAll(j.dir) //nolint:errcheck // temporary files
	killed := !j.killed.Load() && invalid == nil && j.cmd.ProcessState != nil && j.cmd.ProcessState.ExitCode() < 0
	publish(eventMessage{Event: Event{Event: eventExit}, Error: j.reason(invalid, err), Killed: killed})
}

// reason returns why the generator ended; empty after a successful run.
func (j *job) reason(invalid, exit error) string {
	line := strings.ToValidUTF8(strings.TrimPrefix(j.stderr.LastLine(), "weir: "), "?")
	switch {
	case invalid != nil:
		return textOf(fmt.Errorf("its output is invalid: %w", invalid))
	case exit == nil:
		return ""
	case line != "":
		return textOf(errors.New(line))
	}
	return textOf(exit)
}

// command writes a command to the generator. There are two in its life, so that its standard input
// always has room for them. An error shows as the end of the generator.
func (j *job) command(line string) error {
	_, err := io.WriteString(j.stdin, line+"\n")
	return err
}

// stop ends the run, once.
func (j *job) stop() error {
	if j.stopped {
		return errors.New("the load was stopped already")
	}
	j.stopped = true
	return j.command("stop")
}

// kill ends the process in any state.
func (j *job) kill() error {
	j.killed.Store(true)
	j.cmd.Process.Kill() //nolint:errcheck // it has ended otherwise
	select {
	case <-j.done:
		return nil
	case <-time.After(killTimeout):
		return fmt.Errorf("the load generator did not end within %v of being killed", killTimeout)
	}
}
