package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"weir/internal/freeport"
	"weir/internal/tail"
	"weir/lab/agent"
	"weir/lab/result"
)

// These are tests of a run whose load comes from five agents, each in a network namespace of its
// own that a bridge connects with the namespace of the lab. They need root.

// countBytes is the server of these tests: "count ADDR FILE" receives bytes. When it is told to stop
// it reads what has arrived, and appends their number to the file as a line.
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
// loses 5 ms in 100, by the hook of agent.ServeConfig.
func serveSlowClock(args []string) {
	token, err := os.ReadFile(args[2])
	if err != nil {
		panic(err)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	began := time.Now()
	err = agent.Serve(ctx, agent.ServeConfig{URL: args[0], Fingerprint: args[1], Token: strings.TrimSpace(string(token)), Name: args[3], Version: args[4],
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
	if runtime.GOOS != "linux" {
		t.Skip("load generators need Linux")
	}
	weir, err := weirBinary()
	must(t, err)
	f := &farm{t: t, weir: weir, dir: filepath.Join(t.TempDir(), "run"), output: tail.New(64 << 10), agents: map[int]*exec.Cmd{}}
	t.Cleanup(f.close)
	return f
}

// newFarm returns load machines in network namespaces.
func newFarm(t *testing.T) *farm {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("network namespaces need Linux and root")
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
	text, _ := os.ReadFile(filepath.Join(f.dir, trialsFile))
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

// TestFiveAgentsInNamespaces: they send together what the server counts. An agent that is killed,
// that has a slow clock, or whose link is down rejects its trial, and the run goes on when another
// agent comes in its place.
func TestFiveAgentsInNamespaces(t *testing.T) {
	f := newFarm(t)
	counts := filepath.Join(t.TempDir(), "counts")
	self, err := os.Executable()
	must(t, err)
	f.startLab("--subject", fmt.Sprintf("counts=%s count {addr} %s", self, counts), "--agents", strconv.Itoa(farmSize), "--agents-listen", farmHost+":4222")
	for i := range farmSize {
		f.startAgent(i)
	}
	f.awaitTrial(0, "")
	f.awaitTrial(1, "")
	undisturbed := len(f.trials())

	f.midTrial()
	f.end(4, syscall.SIGKILL)
	f.awaitTrial(undisturbed, `agent lost: "e"`)
	f.startAgent(4)
	f.awaitTrial(len(f.trials()), "")

	f.end(4, syscall.SIGINT)
	f.slowClock(4)
	f.awaitTrial(len(f.trials()), `agent clock: "e" has a clock that moved`)
	f.end(4, syscall.SIGTERM)
	f.startAgent(4)
	f.awaitTrial(len(f.trials()), "")

	f.midTrial()
	n := len(f.trials())
	f.ip("link set v4 down")
	f.awaitTrial(n, `agent lost: "e"`)
	cut := f.agents[4].Wait()
	delete(f.agents, 4)
	if exit, ok := errors.AsType[*exec.ExitError](cut); !ok || exit.ExitCode() != 1 || !strings.Contains(f.output.String(), "the connection to the coordinator was lost") {
		t.Errorf("the agent that was cut off: got %v, want status 1 and a message", cut)
	}
	f.ip("link set v4 up")
	f.startAgent(4)
	f.awaitTrial(len(f.trials()), "")
	f.stopLab()
	f.checkCounts(counts)
}

// slowClock starts agent i with a slow clock.
func (f *farm) slowClock(i int) {
	f.t.Helper()
	self, err := os.Executable()
	must(f.t, err)
	out, err := exec.Command(f.weir, "version", "--json").Output()
	must(f.t, err)
	var v struct{ Version string }
	must(f.t, json.Unmarshal(out, &v))
	line := f.line() // lab agent --nats URL --fingerprint F --token-file FILE
	f.start(i, self, "slow-clock", line[3], line[5], line[7], agentName(i), v.Version, f.weir)
}

// midTrial waits until the load of a trial is on its way.
func (f *farm) midTrial() {
	f.t.Helper()
	n := len(f.trials())
	f.await("end of a trial", func() bool { return len(f.trials()) > n })
	out := func() string {
		text, _ := exec.Command("ip", "netns", "exec", f.space(4), "cat", "/proc/net/tcp").Output()
		return string(text)
	}
	// an established connection to another port than the coordinator's, 4222 (hexadecimal 107E)
	f.await("connection of the agent to the server", func() bool {
		for line := range strings.Lines(out()) {
			if w := strings.Fields(line); len(w) > 3 && w[3] == "01" && !strings.HasSuffix(w[2], ":107E") {
				return true
			}
		}
		return false
	})
}

// stopLab ends the run by Ctrl-C, and checks that the agents end with it.
func (f *farm) stopLab() {
	f.t.Helper()
	must(f.t, f.lab.Process.Signal(syscall.SIGINT))
	if exit, ok := errors.AsType[*exec.ExitError](f.lab.Wait()); !ok || exit.ExitCode() != 130 {
		f.t.Errorf("the lab after Ctrl-C: got %v, want status 130", f.lab.ProcessState)
	}
	for i, cmd := range f.agents {
		if err := cmd.Wait(); err != nil {
			f.t.Errorf("agent %s, whose coordinator has closed: got %v, want status 0", agentName(i), err)
		}
		delete(f.agents, i)
	}
	if _, err := os.Stat(filepath.Join(f.dir, tokenFile)); !os.IsNotExist(err) {
		f.t.Errorf("the token file after the run: got %v, want none", err)
	}
}

// checkCounts compares what the server counted in each trial with what the agents sent. There is one
// line of counts for each trial, and one for a trial that Ctrl-C ended.
func (f *farm) checkCounts(file string) {
	f.t.Helper()
	text, err := os.ReadFile(file)
	must(f.t, err)
	counts, trials, compared := strings.Fields(string(text)), f.trials(), 0
	if len(counts) < len(trials) {
		f.t.Fatalf("got %d counts of the server, want one for each of %d trials", len(counts), len(trials))
	}
	for i, x := range trials {
		if len(x.Agents) == 0 {
			continue // disturbed
		}
		sent, connections := int64(0), 0
		for _, a := range x.Agents {
			sent, connections = sent+a.Messages+a.WarmMessages, connections+a.Connections
		}
		if got := fmt.Sprint(32 * sent); got != counts[i] || connections != 23 || len(x.Agents) != farmSize || sent == 0 {
			f.t.Errorf("trial %d: the server counted %s bytes; want %s, of %d messages of %d agents on %d connections", x.ID, counts[i], got, sent, len(x.Agents), connections)
		}
		compared++
	}
	if compared < 2 {
		f.t.Errorf("got %d trials that no agent disturbed, want 2 or more", compared)
	}
	f.t.Logf("%d of %d trials were not disturbed by agents", compared, len(trials))
}

// TestAServerElsewhereIsMeasuredByAnAgentBesideIt: one agent starts the server and measures it, and
// one observes a server that runs. Each server has another cost, and the load comes from two agents.
func TestAServerElsewhereIsMeasuredByAnAgentBesideIt(t *testing.T) {
	f := newLocalFarm(t)
	self, err := os.Executable()
	must(t, err)
	var addrs [2]string
	for i := range addrs {
		port, err := freeport.Choose("127.0.0.1")
		must(t, err)
		addrs[i] = fmt.Sprintf("127.0.0.1:%d", port)
	}
	running := exec.Command(self, "count", addrs[1], filepath.Join(t.TempDir(), "counts"))
	must(t, running.Start())
	t.Cleanup(func() { running.Process.Kill(); running.Wait() })
	f.startLab("--agents", "2", "--subject", "started=http://"+addrs[0], "--subject", "observed=http://"+addrs[1], "--beside", "started", "--beside", "observed")
	f.startAgent(0)
	f.startAgent(1)
	f.startAgent(2, "--beside", "started", "--", self, "count", addrs[0], filepath.Join(t.TempDir(), "counts"))
	f.startAgent(3, "--beside", "observed", "--pid", strconv.Itoa(running.Process.Pid))
	for _, subject := range []string{"started", "observed"} {
		f.await("trial of the subject "+subject, func() bool {
			return slices.ContainsFunc(f.trials(), func(x result.Trial) bool {
				return x.Subject == subject && x.Messages > 0 && x.CPUUSPerMessage > 0 && len(x.Samples) > 5 && x.Memory.PeakRSSKB > 1000 && x.Memory.Processes == 1 && len(agentReasons(x)) == 0
			})
		})
	}
	f.stopLab()
	r, err := result.Read(f.dir)
	must(t, err)
	if s := r.Subjects[0]; !s.Beside || s.Elsewhere || len(r.Agents) != 4 || r.Plan.Agents != 2 {
		t.Errorf("got the subject %+v and the agents %+v, want one that is measured, and 4 agents", s, r.Agents)
	}
}

// exitStatus waits for the end of a command.
func exitStatus(cmd *exec.Cmd) int {
	cmd.Wait() //nolint:errcheck // its status says it
	return cmd.ProcessState.ExitCode()
}

// TestCtrlCEndsEachEndInEachState: the lab while it waits for agents, and an agent that is idle, that
// offers a load, and that cannot connect.
func TestCtrlCEndsEachEndInEachState(t *testing.T) {
	f := newLocalFarm(t)
	self, err := os.Executable()
	must(t, err)
	f.startLab("--subject", fmt.Sprintf("counts=%s count {addr} %s", self, filepath.Join(t.TempDir(), "counts")), "--agents", "2")
	f.startAgent(0)
	f.awaitOutput("agent a is ready")
	f.agents[0].Process.Signal(syscall.SIGINT)
	if status := exitStatus(f.agents[0]); status != 130 {
		t.Errorf("an idle agent: got status %d, want 130", status)
	}
	f.startAgent(0)
	f.startAgent(1)
	f.await("trial", func() bool { return len(f.trials()) > 0 })
	f.agents[1].Process.Signal(syscall.SIGINT)
	if status := exitStatus(f.agents[1]); status != 130 {
		t.Errorf("an agent with a load: got status %d, want 130", status)
	}
	delete(f.agents, 1)
	f.awaitOutput("waiting for agents: 1 of 2 connected (a)")
	f.stopLab() // it waits for the second agent

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer silent.Close()
	line := f.line()
	line[3] = "tls://" + silent.Addr().String()
	must(t, os.WriteFile(line[7], []byte("token"), 0o600))
	f.start(2, append([]string{f.weir}, line...)...)
	conn, err := silent.Accept()
	must(t, err)
	defer conn.Close()
	f.agents[2].Process.Signal(syscall.SIGINT)
	if status := exitStatus(f.agents[2]); status != 130 {
		t.Errorf("an agent that cannot connect: got status %d, want 130", status)
	}
	delete(f.agents, 2)
}

func (f *farm) awaitOutput(text string) {
	f.t.Helper()
	f.await("output "+text, func() bool { return strings.Contains(f.output.String(), text) })
}

// TestAgentsOfAKilledLabEnd: with a message and status 1. Their loads end, too.
func TestAgentsOfAKilledLabEnd(t *testing.T) {
	f := newLocalFarm(t)
	sink, err := net.Listen("tcp", "127.0.0.1:0") // outlives the lab
	must(t, err)
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			c, err := sink.Accept()
			if err != nil {
				return
			}
			reading.Go(func() { io.Copy(io.Discard, c); c.Close() })
		}
	})
	f.startLab("--agents", "2", "--target", sink.Addr().String())
	f.startAgent(0)
	f.startAgent(1)
	f.await("trial", func() bool { return len(f.trials()) > 0 })
	must(t, f.lab.Process.Kill())
	f.lab.Wait() //nolint:errcheck // it was killed
	for i, cmd := range f.agents {
		if status := exitStatus(cmd); status != 1 {
			t.Errorf("agent %s: got status %d, want 1", agentName(i), status)
		}
		delete(f.agents, i)
	}
	f.awaitOutput("the connection to the coordinator was lost: start this agent again once the coordinator runs")
	must(t, sink.Close())
	reading.Wait() // no load runs on
}
