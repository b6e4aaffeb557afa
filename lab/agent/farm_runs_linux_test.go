package agent

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"weir/internal/freeport"
	"weir/lab/result"
)

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
	line := f.line() // lab agent --nats URL --fingerprint F --token-file FILE
	f.start(i, self, "slow-clock", line[3], line[5], line[7], agentName(i), weirVersion, f.weir)
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
	if _, err := os.Stat(filepath.Join(f.dir, "agents.token")); !os.IsNotExist(err) {
		f.t.Errorf("the token file after the run: got %v, want none", err)
	}
}

// checkCounts compares what the server counted in each trial with what the agents sent. There is
// one line of counts for each trial, and one for a trial that Ctrl-C ended.
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
// one observes a server that runs. Each server has another cost, and the load comes from two
// agents.
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

// TestCtrlCEndsEachEndInEachState: the lab while it waits for agents, and an agent that is idle,
// that offers a load, and that cannot connect.
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
