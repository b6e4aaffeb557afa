package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"weir/internal/tail"
	"weir/lab/result"
)

// These are tests of a run whose load comes from five agents, each in a network namespace of its
// own that a bridge connects with the namespace of the lab. They need root.

// countBytes is the server of these tests: "count ADDR FILE" receives bytes. After SIGTERM it reads
// what has arrived, and appends their number to the file as a line.
func countBytes(addr, file string) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	l, err := net.Listen("tcp", addr)
	if err != nil {
		panic(err)
	}
	var total atomic.Int64
	var reading sync.WaitGroup
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			reading.Go(func() {
				io.Copy(counter{&total}, c) //nolint:errcheck // what arrived is counted
				c.Close()
			})
		}
	}()
	<-stop
	l.Close()
	closed := make(chan struct{})
	go func() { reading.Wait(); close(closed) }()
	select {
	case <-closed: // the generators have closed their connections
	case <-time.After(2 * time.Second): // one is cut off
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, total.Load())
	os.Exit(0)
}

type counter struct{ total *atomic.Int64 }

func (c counter) Write(b []byte) (int, error) {
	c.total.Add(int64(len(b)))
	return len(b), nil
}

// serveSlowClock is "slow-clock URL FINGERPRINT TOKENFILE NAME VERSION WEIR": an agent whose clock
// loses 5 ms in 100, by the hook of ServeConfig.
func serveSlowClock(args []string) {
	token, err := os.ReadFile(args[2])
	if err != nil {
		panic(err)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	began := time.Now()
	err = Serve(ctx, ServeConfig{URL: args[0], Fingerprint: args[1], Token: strings.TrimSpace(string(token)), Name: args[3], Version: args[4],
		Load: []string{args[5], "load"}, ClockShift: func() time.Duration { return -time.Since(began) / 20 }})
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// farm is the network of five load machines and the machine of the lab.
type farm struct {
	t    *testing.T
	weir string
	name string // of the lab's namespace; those of the agents have their number added; empty: none
	dir  string // of the run

	lab    *exec.Cmd
	output *tail.Buffer
	agents map[int]*exec.Cmd
}

const (
	farmSize = 5
	farmHost = "198.18.7.1" // of the range for benchmarks (RFC 2544)
)

// newLocalFarm returns load machines that are all this machine.
func newLocalFarm(t *testing.T) *farm {
	f := &farm{t: t, weir: binary(t), dir: filepath.Join(t.TempDir(), "run"), output: tail.New(64 << 10), agents: map[int]*exec.Cmd{}}
	t.Cleanup(f.close)
	return f
}

// newFarm returns load machines in network namespaces.
func newFarm(t *testing.T) *farm {
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("network namespaces are made by ip, which is not installed")
	}
	if testing.Short() {
		t.Skip("it takes two minutes")
	}
	f := newLocalFarm(t)
	f.name = fmt.Sprintf("weirfarm%d", os.Getpid())
	if out, err := exec.Command("ip", "netns", "add", f.name).CombinedOutput(); err != nil {
		t.Skipf("network namespaces cannot be made here: %s", out)
	}
	f.ip("link add br0 type bridge")
	f.ip("addr add " + farmHost + "/24 dev br0")
	f.ip("link set br0 up")
	f.ip("link set lo up")
	for i := range farmSize {
		f.must("ip", "netns", "add", f.space(i))
		f.ip(fmt.Sprintf("link add v%d type veth peer name v netns %s", i, f.space(i)))
		f.ip(fmt.Sprintf("link set v%d master br0 up", i))
		f.must("ip", "-n", f.space(i), "addr", "add", fmt.Sprintf("198.18.7.%d/24", 10+i), "dev", "v")
		f.must("ip", "-n", f.space(i), "link", "set", "v", "up")
	}
	return f
}

func (f *farm) space(i int) string { return f.name + strconv.Itoa(i) }

func (f *farm) must(args ...string) {
	f.t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		f.t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// ip runs a command of ip in the lab's namespace.
func (f *farm) ip(command string) {
	f.t.Helper()
	f.must(append([]string{"ip", "-n", f.name}, strings.Fields(command)...)...)
}

// close ends what the test started, and removes the namespaces.
func (f *farm) close() {
	for i := range f.agents {
		f.end(i, syscall.SIGKILL)
	}
	if f.lab != nil && f.lab.ProcessState == nil {
		f.lab.Process.Kill()
		f.lab.Wait()
	}
	for i := range farmSize {
		if f.name != "" {
			exec.Command("ip", "netns", "del", f.space(i)).Run()
		}
	}
	if f.name != "" {
		exec.Command("ip", "netns", "del", f.name).Run()
	}
	if f.t.Failed() {
		f.t.Logf("the lab wrote:\n%s", f.output)
	}
}

// within returns a command in a namespace, if there are some.
func (f *farm) within(space string, command ...string) *exec.Cmd {
	if f.name != "" {
		command = append([]string{"ip", "netns", "exec", space}, command...)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = f.output, f.output
	return cmd
}

// startLab starts a run of many trials with these arguments, and waits for the line that starts an
// agent.
func (f *farm) startLab(args ...string) {
	f.t.Helper()
	experiment := filepath.Join(f.t.TempDir(), "farm.toml")
	must(f.t, os.WriteFile(experiment, []byte(`workload = "sink"
connections = [23]
patterns = ["poisson"]
blocks = 200
duration = "1s"
window = "250ms"
warm_limit = "250ms"
twin = false
[[load]]
rate = 20
size = 32
idle = 7
`), 0o644))
	f.lab = f.within(f.name, append([]string{f.weir, "lab", "run", experiment, "--out", f.dir, "--agents-wait", "2m", "--no-reasons", "--seed", "1"}, args...)...)
	must(f.t, f.lab.Start())
	f.await("the line that starts an agent", func() bool { return f.line() != nil })
}

// line returns the arguments of the line that starts an agent; nil before the lab wrote it.
func (f *farm) line() []string {
	_, rest, found := strings.Cut(f.output.String(), "run there: weir ")
	line, _, whole := strings.Cut(rest, "\n")
	if !found || !whole {
		return nil
	}
	return strings.Fields(line)
}

// start starts agent i in its namespace.
func (f *farm) start(i int, command ...string) {
	f.t.Helper()
	f.agents[i] = f.within(f.space(i), command...)
	must(f.t, f.agents[i].Start())
}

func agentName(i int) string { return string(rune('a' + i)) }

// startAgent starts agent i, with further arguments.
func (f *farm) startAgent(i int, args ...string) {
	f.t.Helper()
	f.start(i, slices.Concat([]string{f.weir}, f.line(), []string{"--name", agentName(i)}, args)...)
}

// end ends agent i.
func (f *farm) end(i int, by syscall.Signal) {
	f.agents[i].Process.Signal(by)
	f.agents[i].Wait()
	delete(f.agents, i)
}

// await waits for a condition.
func (f *farm) await(what string, done func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatalf("got no %s in time", what)
		}
	}
}

// trials returns the trials so far.
func (f *farm) trials() (all []result.Trial) {
	text, _ := os.ReadFile(filepath.Join(f.dir, "trials.jsonl"))
	for line := range strings.Lines(string(text)) {
		var t result.Trial
		if json.Unmarshal([]byte(line), &t) == nil {
			all = append(all, t)
		}
	}
	return all
}

// agentReasons returns the reasons of a trial that are about agents; those about a busy machine are
// none of these tests.
func agentReasons(t result.Trial) (about []string) {
	for _, why := range t.RejectedBecause {
		if strings.HasPrefix(why, "agent") {
			about = append(about, why)
		}
	}
	return about
}

// awaitTrial waits for a trial after the first n that has a reason about agents with this text, or
// none if it is empty.
func (f *farm) awaitTrial(n int, reason string) {
	f.t.Helper()
	f.await(fmt.Sprintf("trial with a reason that says %q", reason), func() bool {
		for _, t := range f.trials()[n:] {
			why := strings.Join(agentReasons(t), "; ")
			if reason == "" && why == "" && t.Messages > 0 || reason != "" && strings.Contains(why, reason) {
				return true
			}
		}
		return false
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
