package agent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/tail"
)

// eventTimeout is how long a test waits for anything that must happen.
const eventTimeout = 30 * time.Second

// listen starts a coordinator, whose tolerances are those of a busy machine.
func listen(t *testing.T, config ListenConfig) *Coordinator {
	t.Helper()
	config.Address, config.StartTolerance, config.MaxClockError = "127.0.0.1:0", 2*time.Second, time.Second
	if config.Version == "" {
		config.Version = weirVersion
	}
	c, err := Listen(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("closing the coordinator: got error %v, want none", err)
		}
	})
	return c
}

func binary(t *testing.T) string {
	t.Helper()
	file, err := weirBinary()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// serveAgent runs an agent in this process until the test ends. It returns its end.
func serveAgent(t *testing.T, c *Coordinator, name string, change ...func(*ServeConfig)) <-chan error {
	t.Helper()
	config := ServeConfig{URL: c.URL(), Fingerprint: c.Fingerprint(), Token: c.Token(), Name: name, Version: weirVersion, Load: []string{binary(t), "load"}}
	for _, f := range change {
		f(&config)
	}
	// not the test's own context, which ends before its sessions close
	ctx, cancel := context.WithCancel(context.Background())
	end, over := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(over)
		end <- Serve(ctx, config)
	}()
	t.Cleanup(func() { cancel(); <-over })
	return end
}

// startAgent starts the command weir lab agent, and returns it with what it writes.
func startAgent(t *testing.T, c *Coordinator, name string) (*exec.Cmd, *tail.Buffer) {
	t.Helper()
	cmd := exec.Command(binary(t), "lab", "agent", "--nats", c.URL(), "--fingerprint", c.Fingerprint(), "--name", name)
	cmd.Env = append(os.Environ(), "WEIR_AGENT_TOKEN="+c.Token())
	output := tail.New(4096)
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, output
}

func waitFor(t *testing.T, c *Coordinator, n int) []Agent {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), eventTimeout)
	defer cancel()
	s, err := c.Wait(ctx, n, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.Agents
}

// sink counts the bytes that it receives on all connections.
type sink struct {
	addr     string
	received atomic.Int64
	accept   sync.WaitGroup // the goroutine that accepts connections
	conns    sync.WaitGroup // one goroutine for each connection
}

func newSink(t *testing.T) *sink {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{addr: l.Addr().String()}
	s.accept.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Go(func() {
				defer c.Close()
				io.Copy(writerFunc(func(b []byte) (int, error) { s.received.Add(int64(len(b))); return len(b), nil }), c)
			})
		}
	})
	t.Cleanup(func() { l.Close(); s.accept.Wait(); s.conns.Wait() })
	return s
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// messageSize is that of the messages of tests, in bytes.
const messageSize = 100

// streams returns a load on the server with n shares.
func (s *sink) streams(n int) (l Load) {
	for i := range n {
		l.Shares = append(l.Shares, Share{Args: []string{"stream", "-c", fmt.Sprint(i + 1), "--rate-per-connection", "50", "--size", fmt.Sprint(messageSize), s.addr}})
	}
	return l
}

// start starts a session that ends with the test.
func start(t *testing.T, c *Coordinator, l Load) *Session {
	t.Helper()
	s, err := c.Start(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// await drops events until one of this name. It returns false if the session ends before.
func await(t *testing.T, s *Session, name string) (Event, bool) {
	t.Helper()
	timeout := time.After(eventTimeout)
	for {
		select {
		case e, open := <-s.Events():
			if !open || e.Event == name {
				return e, open
			}
		case <-timeout:
			t.Fatalf("got no event %s in %v", name, eventTimeout)
		}
	}
}

// mustAwait is await of an event that must come.
func mustAwait(t *testing.T, s *Session, name string) Event {
	t.Helper()
	e, open := await(t, s, name)
	if !open {
		t.Fatalf("the session ended before the event %s: %v", name, s.Err())
	}
	return e
}

// mustSend sends a command that must succeed.
func mustSend(t *testing.T, s *Session, command string) {
	t.Helper()
	if err := s.Send(command); err != nil {
		t.Fatalf("%s: got error %v, want none", command, err)
	}
}

// wantFailure waits for the end of the session, and checks why it failed.
func wantFailure(t *testing.T, s *Session, texts ...string) {
	t.Helper()
	if e, open := await(t, s, "report"); open {
		t.Fatalf("got the report %s, want a failure that says %q", e.Report, texts)
	}
	for _, text := range texts {
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got error %v, want one that says %q", err, text)
		}
	}
}

// TestAgentsTogetherSendWhatTheServerCounts: two agents of this process and one of the command,
// each with another number of connections.
func TestAgentsTogetherSendWhatTheServerCounts(t *testing.T) {
	c, server := listen(t, ListenConfig{}), newSink(t)
	ahead := 3 * time.Hour // a clock that is not the coordinator's
	ends := []<-chan error{serveAgent(t, c, "a"), serveAgent(t, c, "b", func(s *ServeConfig) { s.ClockShift = func() time.Duration { return ahead } })}
	command, output := startAgent(t, c, "c")
	if all := waitFor(t, c, 3); all[0].Name != "a" || all[2].Name != "c" || all[1].Cores < 1 || all[2].Version != weirVersion {
		t.Fatalf("got the agents %+v, want a, b and c with cores and the version %s", all, weirVersion)
	}
	for range 2 { // sessions follow each other
		before := server.received.Load()
		s := start(t, c, server.streams(3))
		mustAwait(t, s, "sending")
		if e := mustAwait(t, s, "progress"); e.Sent < 0 {
			t.Errorf("got %+v, want a count", e)
		}
		mustSend(t, s, "measure 300ms")
		measuring, measured := mustAwait(t, s, "measuring"), mustAwait(t, s, "measured")
		if length := measured.AtNS - measuring.AtNS; length < 290e6 || measured.AtNS > now() {
			t.Errorf("got a window from %d to %d at %d on the coordinator's clock, want 300 ms in the past", measuring.AtNS, measured.AtNS, now())
		}
		mustSend(t, s, "stop")
		ctx, cancel := context.WithTimeout(t.Context(), eventTimeout)
		defer cancel()
		report, text, err := s.Report(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("closing: got error %v, want none", err)
		}
		if got, want := server.received.Load()-before, messageSize*(report.Messages+report.WarmMessages); got != want || report.Messages == 0 {
			t.Errorf("the server received %d bytes; want %d, %d messages before the window and %d in it, of %s", got, want, report.WarmMessages, report.Messages, text)
		}
		if report.StartedNS != measuring.AtNS || len(report.Histograms) == 0 || len(report.Errors) > 0 {
			t.Errorf("got the start %d, %d histograms and errors %v; want %d, histograms and no errors", report.StartedNS, len(report.Histograms), report.Errors, measuring.AtNS)
		}
		parts := s.Parts()
		if offset := parts[1].Before.Offset - ahead; len(parts) != 3 || offset.Abs() > parts[1].Before.Bound {
			t.Errorf("got %d parts, and a clock that is %v wrong with the bound %v; want 3, and no more than the bound", len(parts), offset, parts[1].Before.Bound)
		}
	}
	if err := c.Close(); err != nil {
		t.Errorf("closing the coordinator: got error %v, want none", err)
	}
	for _, end := range ends {
		if err := <-end; err != nil {
			t.Errorf("an agent whose coordinator has closed: got error %v, want none", err)
		}
	}
	if err := command.Wait(); err != nil {
		t.Errorf("the command whose coordinator has closed: got %v, %s; want status 0", err, output)
	}
}

func TestAKilledAgentFailsTheSession(t *testing.T) {
	c, server := listen(t, ListenConfig{}), newSink(t)
	serveAgent(t, c, "a")
	killed, _ := startAgent(t, c, "b")
	waitFor(t, c, 2)
	s := start(t, c, server.streams(2))
	mustAwait(t, s, "sending")
	mustSend(t, s, "measure 1m")
	mustAwait(t, s, "measuring")
	killed.Process.Kill()
	wantFailure(t, s, `agent lost: "b"`)
	if err := s.Send("stop"); err == nil || !strings.Contains(err.Error(), `agent lost: "b"`) {
		t.Errorf("a command to a failed session: got error %v, want the reason of the failure", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing: got error %v, want none", err)
	}
	if all := waitFor(t, c, 1); len(all) != 1 || all[0].Name != "a" {
		t.Errorf("got the agents %v, want a alone", all)
	}
	// the load of the killed agent has ended, too
	end := make(chan struct{})
	go func() { server.conns.Wait(); close(end) }()
	select {
	case <-end:
	case <-time.After(eventTimeout):
		t.Error("the load of the killed agent still runs")
	}
}

// TestAClockThatMovesFailsTheSession: its agent's clock is set forward within the window.
func TestAClockThatMovesFailsTheSession(t *testing.T) {
	c, server := listen(t, ListenConfig{}), newSink(t)
	var shift atomic.Int64
	serveAgent(t, c, "a")
	serveAgent(t, c, "b", func(s *ServeConfig) { s.ClockShift = func() time.Duration { return time.Duration(shift.Load()) } })
	waitFor(t, c, 2)
	s := start(t, c, server.streams(2))
	mustAwait(t, s, "sending")
	mustSend(t, s, "measure 100ms")
	mustAwait(t, s, "measuring")
	shift.Store(int64(20 * time.Second))
	mustSend(t, s, "stop")
	wantFailure(t, s, `agent clock: "b" has a clock that moved: by`, "between the start and the end")
}

// TestALateAgentFailsTheSession: its clock is set between the measurement of the clock and the
// start of the window, so that the window seems to start 20 s late.
func TestALateAgentFailsTheSession(t *testing.T) {
	c, server := listen(t, ListenConfig{}), newSink(t)
	var shift atomic.Int64
	serveAgent(t, c, "a")
	serveAgent(t, c, "b", func(s *ServeConfig) { s.ClockShift = func() time.Duration { return time.Duration(shift.Load()) } })
	waitFor(t, c, 2)
	s := start(t, c, server.streams(2))
	mustAwait(t, s, "sending")
	mustSend(t, s, "measure 100ms")
	shift.Store(int64(20 * time.Second))
	wantFailure(t, s, `agent late: "b" started its window`)
}

func TestAgentsOfAnotherVersionAreRefused(t *testing.T) {
	c := listen(t, ListenConfig{Version: "v2"})
	end := serveAgent(t, c, "old")
	want := `agent "old" runs weir v0-test, and the coordinator v2`
	if err := <-end; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the agent: got error %v, want %q", err, want)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var seen State
	_, err := c.Wait(ctx, 1, nil, func(s State) { seen = s })
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "0 of 1 agents") || seen.Refused == nil {
		t.Errorf("the coordinator: got error %v and the state %+v, want %q", err, seen, want)
	}
	if _, err := c.Start(t.Context(), newSink(t).streams(1)); err == nil || !strings.Contains(err.Error(), "0 of 1 agents") {
		t.Errorf("a session: got error %v, want that an agent is missing", err)
	}
}

// TestAPartitionedAgentFallsOut: no byte passes between it and the coordinator any more, and no
// connection is closed.
func TestAPartitionedAgentFallsOut(t *testing.T) {
	c, server := listen(t, ListenConfig{}), newSink(t)
	between := newCable(t, strings.TrimPrefix(c.URL(), "tls://"))
	serveAgent(t, c, "a")
	cut := serveAgent(t, c, "b", func(s *ServeConfig) { s.URL = "tls://" + between.addr })
	waitFor(t, c, 2)
	s := start(t, c, server.streams(2))
	mustAwait(t, s, "sending")
	mustSend(t, s, "measure 1m")
	mustAwait(t, s, "measuring")
	between.cut.Store(true)
	wantFailure(t, s, `agent lost: "b" does not answer`)
	if err := <-cut; err == nil || !strings.Contains(err.Error(), "connection to the coordinator was lost") {
		t.Errorf("the agent: got error %v, want that its connection was lost", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing: got error %v, want none", err)
	}
	server.conns.Wait() // both loads have ended
}

// TestAnAgentCannotCommandAnother: a stranger with the token neither sends requests to agents nor
// reads those of the coordinator's replies.
func TestAnAgentCannotCommandAnother(t *testing.T) {
	c := listen(t, ListenConfig{})
	serveAgent(t, c, "a")
	waitFor(t, c, 1)
	closed := make(chan struct{})
	conn, err := connect(t.Context(), &ServeConfig{URL: c.URL(), Fingerprint: c.Fingerprint(), Token: c.Token(), Name: "stranger"}, func() { close(closed) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { conn.Close(); <-closed }()
	if err := conn.Publish(requestSubject("a"), encode(request{Do: doLeave})); err != nil {
		t.Fatal(err)
	}
	if sub, err := conn.SubscribeSync(coordinatorInbox + ".>"); err != nil || sub == nil {
		t.Fatal(err)
	}
	conn.FlushTimeout(eventTimeout)
	if err := conn.LastError(); err == nil || !strings.Contains(err.Error(), "Permissions Violation") {
		t.Errorf("got error %v, want a violation of permissions", err)
	}
	if _, err := c.probe(t.Context(), "a"); err != nil {
		t.Errorf("the agent after a request of a stranger to leave: got error %v, want none", err)
	}
}

// TestALoadEndsWithItsAgent: whatever ends the agent, its load does not run on.
func TestALoadEndsWithItsAgent(t *testing.T) {
	c, server := listen(t, ListenConfig{}), newSink(t)
	end := serveAgent(t, c, "a")
	waitFor(t, c, 1)
	s := start(t, c, server.streams(1))
	mustAwait(t, s, "sending")
	if err := c.Close(); err != nil {
		t.Errorf("closing in mid-run: got error %v, want none", err)
	}
	if err := <-end; err != nil {
		t.Errorf("the agent: got error %v, want none", err)
	}
	if err := s.Send("stop"); err == nil {
		t.Error("a command to a closed session: got no error, want one")
	}
}

func TestTheTokenStandsInItsFileOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	c := listen(t, ListenConfig{TokenFile: file})
	text, err := os.ReadFile(file)
	info, statErr := os.Stat(file)
	if err != nil || statErr != nil || info.Mode() != 0o600 || string(bytes.TrimSpace(text)) != c.Token() || len(c.Token()) < 40 {
		t.Errorf("got a token file with mode %v and errors %v, %v; want the token with mode 0600", info.Mode(), err, statErr)
	}
	if line := c.Line(); strings.Contains(line, c.Token()) || !strings.Contains(line, c.Fingerprint()) || !strings.Contains(line, file) {
		t.Errorf("got the line %s, want one with the fingerprint and the file, without the token", line)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the token file after Close: got %v, want none", err)
	}
}

func TestAddressesThatAgentsCannotReachAreRejected(t *testing.T) {
	for _, address := range []string{"", "0.0.0.0:0", "[::]:4222", ":4222", "127.0.0.1", "127.0.0.1:70000", "127.0.0.1:-1"} {
		if c, err := Listen(t.Context(), ListenConfig{Address: address}); err == nil {
			t.Errorf("%q: got no error, want one", address)
			c.Close()
		}
	}
}

// TestAnAgentThatWasKilledCanBeStartedAgainAtOnce: its name is free as soon as its connection has
// ended, before a probe finds that.
func TestAnAgentThatWasKilledCanBeStartedAgainAtOnce(t *testing.T) {
	c := listen(t, ListenConfig{})
	for range 5 {
		cmd, output := startAgent(t, c, "a")
		for deadline := time.Now().Add(eventTimeout); waitFor(t, c, 1)[0].PID != cmd.Process.Pid; {
			if time.Now().After(deadline) {
				t.Fatalf("the agent that was started again did not take its place: %s", output)
			}
		}
		cmd.Process.Kill()
		cmd.Wait() //nolint:errcheck // it was killed
	}
}
