package subject

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/freeport"
	"weir/lab/sample"
)

func freePort(t *testing.T, host string) int {
	t.Helper()
	port, err := freeport.Choose(host)
	if err != nil {
		t.Skipf("no free port at %s: %v", host, err)
	}
	return port
}

func start(t *testing.T, s *Subject, pl Place) *Process {
	t.Helper()
	p, err := s.Start(t.Context(), nil, Params{Host: "127.0.0.1", Port: freePort(t, "127.0.0.1")}, pl)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop() })
	return p
}

func TestStartReturnsWhenTheServerIsReady(t *testing.T) {
	for _, ready := range []string{"listen", "connect"} {
		for _, host := range []string{"127.0.0.1", "::1"} {
			t.Run(ready+" "+host, func(t *testing.T) {
				s := scratch(t, "plain", `ready = "`+ready+`"`)
				port := freePort(t, host)
				p, err := s.Start(t.Context(), nil, Params{Host: host, Port: port}, Place{})
				if err != nil {
					t.Fatal(err)
				}
				c, err := net.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
				if err != nil {
					t.Errorf("connecting to a ready server: got error %v, want none", err)
				} else {
					c.Close()
				}
				if err := p.Stop(); err != nil {
					t.Errorf("Stop: got error %v, want none", err)
				}
				if left := processGroup(p.PID()); len(left) > 0 {
					t.Errorf("got the processes %v left, want none", left)
				}
			})
		}
	}
}

func TestStartWaitsForALineAndPassesTheOutputOn(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p := start(t, scratch(t, "talks", `ready = "line: listening"`), Place{Stdout: out})
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(out.Name()); string(text) != "listening soon\n" {
		t.Errorf("got standard output %q, want %q", text, "listening soon\n")
	}
}

func TestStartGivesTheEnvironment(t *testing.T) {
	p := start(t, scratch(t, "env", `env = { GREETING = "hello {port}" }`), Place{})
	_ = p.Stop()
	if _, port, _ := net.SplitHostPort(p.addr); p.Stderr() != "hello "+port+"\n" {
		t.Errorf("got standard error %q, want a greeting with port %s", p.Stderr(), port)
	}
	p = start(t, scratch(t, "env", `env = { GREETING = "hello" }`), Place{Env: []string{"GREETING=over it"}})
	_ = p.Stop()
	if p.Stderr() != "over it\n" {
		t.Errorf("got %q, want Place.Env to override", p.Stderr())
	}
}

// TestGODEBUGSettingsAreMerged: settings of the subject and of the lab's environment stay in effect
// with those that the lab adds.
func TestGODEBUGSettingsAreMerged(t *testing.T) {
	gctrace := Place{Env: []string{"GODEBUG=gctrace=1"}}
	for _, tt := range []struct{ shell, toml, want string }{
		{"", "", "gctrace=1"},
		{"madvdontneed=0", "", "madvdontneed=0,gctrace=1"},
		{"madvdontneed=0", `env = { GODEBUG = "panicnil=1" }`, "panicnil=1,gctrace=1"},
		{"", `env = { GODEBUG = "panicnil=1,gctrace=0" }`, "panicnil=1,gctrace=0,gctrace=1"},
	} {
		t.Setenv("GODEBUG", tt.shell)
		p := start(t, scratch(t, "godebug", tt.toml), gctrace)
		_ = p.Stop()
		if got, _, _ := strings.Cut(p.Stderr(), "\n"); got != "GODEBUG is "+tt.want {
			t.Errorf("%q in the environment and %s: got %q, want %q", tt.shell, tt.toml, got, tt.want)
		}
	}
}

func TestStartSaysWhyNot(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	taken := busy.Addr().(*net.TCPAddr).Port
	tests := []struct {
		name, kind, line string
		params           Params
		want             []string
	}{
		{"died", "dies", "", Params{}, []string{"scratch ended (exit status 3)", `its last line is "cannot read the moon phase"`, "to see it by itself: cd "}},
		{"never ready", "silent", "", Params{}, []string{"was not ready within 300ms", "should listen at 127.0.0.1:", "subject.toml"}},
		{"never said it", "plain", `ready="line: up"`, Params{}, []string{`should print a line with "up"`}},
		{"port in use", "plain", "", Params{Port: taken}, []string{"in use", strconv.Itoa(taken), "choose another port"}},
		{"no such workload", "plain", "", Params{Workload: "echo"}, []string{`does not serve the workload "echo"`, "sink"}},
		{"no such host", "plain", "", Params{Host: "localhost"}, []string{`"localhost"`, "127.0.0.1"}},
		{"no folder to serve", "plain", `env={WWW="{www}"}`, Params{Www: "www"}, []string{`cannot serve the folder "www"`, "absolute path"}},
		{"negative sleep", "plain", "", Params{SleepMS: -1}, []string{"sleeps and filters cannot be negative"}},
		{"no such port", "plain", "", Params{Port: 70000}, []string{"70000", "65535"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := scratch(t, tt.kind, tt.line)
			if tt.params.Host == "" {
				tt.params.Host = "127.0.0.1"
			}
			if tt.params.Port == 0 {
				tt.params.Port = freePort(t, "127.0.0.1")
			}
			within := time.Duration(0)
			if strings.HasPrefix(tt.name, "never") {
				within = 300 * time.Millisecond
			}
			_, err := s.Start(t.Context(), nil, tt.params, Place{ReadyTimeout: within})
			wantError(t, err, tt.want...)
			if taken := tt.name == "port in use"; errors.Is(err, ErrPortInUse) != taken {
				t.Errorf("got %v, want ErrPortInUse: %v", err, taken)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("got more than one line: %q, want one", err)
			}
		})
	}
}

func TestStartReportsAMissingCommand(t *testing.T) {
	s := scratch(t, "plain", `build=["true"]`)
	s.RunCmd = []string{"{out}/server", "{addr}"}
	_, err := s.Start(t.Context(), nil, Params{Host: "127.0.0.1", Port: freePort(t, "127.0.0.1")}, Place{})
	wantError(t, err, "build it first (weir lab build scratch)")
	s.RunCmd = []string{"no-such-runtime", "{addr}"}
	_, err = s.Start(t.Context(), nil, Params{Host: "127.0.0.1", Port: freePort(t, "127.0.0.1")}, Place{})
	wantError(t, err, "no-such-runtime is not on PATH: install it")
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := scratch(t, "silent").Start(ctx, nil, Params{Host: "127.0.0.1", Port: freePort(t, "127.0.0.1")}, Place{})
	wantError(t, err, "interrupted")
}

func TestStopReportsHowTheServerEnded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind, why string
		want      string // empty: no error
	}{
		{"plain", "exit 0", ""},
		{"mortal", "death by SIGTERM itself", ""},
		{"shell", "exit 143 is how shells and JVMs report SIGTERM", ""},
		{"bad end", "a failure on the way out", `ended (exit status 7), its last line is "cannot save"`},
		{"stubborn", "SIGTERM ignored", "was killed"},
		{"parent", "its child stays", "left 1 processes behind"},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			p := start(t, scratch(t, tt.kind), Place{})
			err := p.Stop()
			if tt.want == "" && err != nil {
				t.Errorf("%s: got error %v, want none", tt.why, err)
			}
			if tt.want != "" {
				wantError(t, err, tt.want)
			}
			if again := p.Stop(); (again == nil) != (err == nil) {
				t.Errorf("got %v from the second Stop, want an error only if the first had one: %v", again, err)
			}
			if left := processGroup(p.PID()); len(left) > 0 {
				t.Errorf("%s: got the processes %v left, want none", tt.why, left)
			}
		})
	}
}

func TestUnexpectedExitIsAnError(t *testing.T) {
	p := start(t, scratch(t, "plain"), Place{})
	if p.Err() != nil || p.Exit() != nil {
		t.Errorf("a running server: got Err %v, Exit %v; want nil", p.Err(), p.Exit())
	}
	if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	wantError(t, p.Err(), "scratch ended (signal: killed)")
	wantError(t, p.Stop(), "scratch ended (signal: killed)")
}

// TestPublishedProgramsMayExitWithAnyStatus: mini_httpd, for example, exits with 1.
func TestPublishedProgramsMayExitWithAnyStatus(t *testing.T) {
	p := start(t, scratch(t, "bad end", `contract = "published"`), Place{})
	if err := p.Stop(); err != nil {
		t.Errorf("got error %v, want none", err)
	}
	crashing := start(t, scratch(t, "plain", `contract = "published"`), Place{})
	if err := syscall.Kill(crashing.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-crashing.Done()
	wantError(t, crashing.Stop(), "scratch ended (signal: killed)")
}

func TestPublishedProgramsMayLeaveChildren(t *testing.T) {
	p := start(t, scratch(t, "parent", `contract = "published"`), Place{})
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if left := processGroup(p.PID()); len(left) > 0 {
		t.Errorf("got the processes %v left, want none", left)
	}
}

func TestStartPutsTheServerInItsGroup(t *testing.T) {
	t.Parallel()
	g, err := sample.NewGroup("subject-test")
	if err != nil {
		t.Skipf("no accounting on this machine: %v", err)
	}
	defer g.Close()
	p, err := scratch(t, "parent").Start(t.Context(), g, Params{Host: "127.0.0.1", Port: freePort(t, "127.0.0.1")}, Place{})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); len(p.Left()) < 2 && time.Now().Before(deadline); {
		time.Sleep(pause)
	}
	if n := len(p.Left()); n != 2 {
		t.Errorf("got %d processes in the group, want the server and its child", n)
	}
	wantError(t, p.Stop(), "left 1 processes behind")
	if pids, err := g.PIDs(); err != nil || len(pids) > 0 {
		t.Errorf("got the processes %v left in the group, error %v; want none", pids, err)
	}
}
