package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/freeport"
	"weir/lab/result"
	"weir/lab/workload"
)

// misbehave is a server that echoes, or has the fault that kind names. The test binary runs it with
// the arguments "faulty ADDR KIND".
func misbehave(addr, kind string) {
	term := make(chan os.Signal, 1) // from the runtime
	signal.Notify(term, syscall.SIGTERM)
	if kind == "never ready" {
		<-term
		os.Exit(0)
	}
	if other, ok := strings.CutPrefix(kind, "listens at "); ok {
		addr = other
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if kind == "leaves a child behind" {
		child := exec.Command(os.Args[0], "faulty", "127.0.0.1:0", "ignores SIGTERM")
		if err := child.Start(); err != nil {
			panic(err)
		}
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				panic(err)
			}
			go misuse(c, kind)
		}
	}()
	for range term {
		switch kind {
		case "ignores SIGTERM":
		case "exits 1 on SIGTERM":
			fmt.Fprintln(os.Stderr, "cannot save")
			os.Exit(1)
		default:
			os.Exit(0)
		}
	}
}

// misuse serves one connection with the fault.
func misuse(c net.Conn, kind string) {
	defer c.Close()
	b := make([]byte, 4096)
	for total := 0; ; {
		n, err := c.Read(b)
		if err != nil {
			return
		}
		total += n
		switch {
		case kind == "stops reading" && total > 200:
			<-make(chan struct{})
		case kind == "hangs up" && total > 2000:
			return
		case kind == "dies" && total > 2000:
			fmt.Fprintln(os.Stderr, "out of luck")
			os.Exit(3)
		case kind == "leaves" && total > 2000:
			os.Exit(0)
		case kind == "burns":
			for end := time.Now().Add(time.Millisecond); time.Now().Before(end); {
			}
		case kind == "corrupts echoes":
			b[0] ^= 1
		}
		if _, err := c.Write(b[:n]); err != nil {
			return
		}
	}
}

// faulty returns a bench with a correct server, which comes first, and one with a fault.
func faulty(t *testing.T, kind string) *bench {
	b := newBench(t)
	no := false
	b.experiment.AAControl, b.experiment.Workload = &no, "echo"
	b.experiment.TimeLimit = workload.Duration(1) // no place is retried
	b.add("sound", "no fault")
	b.add("faulty", kind)
	must(t, b.experiment.Validate())
	for b.options.Seed = 1; ; b.options.Seed++ {
		for block := range NewPlan(b.experiment, []result.Subject{{Name: "sound"}, {Name: "faulty"}}, b.options.Seed).All() {
			if block[0].Subject == "sound" {
				return b
			}
		}
	}
}

// add adds a server with a fault to the experiment.
func (b *bench) add(name, kind string) {
	b.t.Helper()
	b.experiment.Subjects = append(b.experiment.Subjects, name)
	dir := filepath.Join(b.options.Root, "subjects", name)
	must(b.t, os.MkdirAll(dir, 0o755))
	must(b.t, os.WriteFile(filepath.Join(dir, "subject.toml"), fmt.Appendf(nil, "name = %q\nlanguage = \"Go\"\nparadigm = \"any\"\nabout = \"Echoes.\"\n"+
		"workloads = [\"sink\", \"echo\"]\nrun = [%q, \"faulty\", \"{addr}\", %q]\nwarm_messages = 10\n", name, os.Args[0], kind), 0o644))
}

// groupsLeft lists the cgroups that this process has not removed.
func groupsLeft() (left []string) {
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "weir-") && strings.Contains(d.Name(), fmt.Sprintf("-%d-", os.Getpid())) {
			left = append(left, path)
		}
		return nil // a group that cannot be read or no longer exists is not left behind
	})
	return left
}

// TestServersThatFailAreReported: a server that exits or does not become ready ends the run with a
// one-line error. Every other fault is recorded in its trials, and the run goes on. Nothing is left
// behind, and finished trials are kept.
func TestServersThatFailAreReported(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { // once for all the runs, after the last
		taken.Close()
		nothingLeft(t)
		if left := groupsLeft(); len(left) > 0 {
			t.Errorf("got cgroups left behind: %q, want none", left)
		}
	})
	for _, test := range []struct {
		kind   string
		fatal  string // part of the run's error
		failed string // part of a reason in the faulty server's trials
		slow   bool   // a disturbed machine may be the reason instead
		ended  string // part of StopFailure in its trials
	}{
		{kind: "never ready", fatal: "was not ready within"},
		{kind: "listens at " + taken.Addr().String(), fatal: "is in use by another program"},
		{kind: "dies", fatal: "out of luck"},
		{kind: "leaves", fatal: "exit status 0"},
		{kind: "hangs up", failed: "every connection was lost"},
		{kind: "corrupts echoes", failed: "wrong byte"},
		{kind: "stops reading", failed: "echo missing", slow: true},
		{kind: "ignores SIGTERM", ended: "was killed"},
		{kind: "exits 1 on SIGTERM", ended: `ended (exit status 1), its last line is "cannot save"`},
		{kind: "leaves a child behind", ended: "left 1 processes behind"},
	} {
		t.Run(test.kind, func(t *testing.T) {
			t.Parallel() // a trial mostly waits, and no figure is checked
			b := faulty(t, test.kind)
			r, err := NewRunner(t.Context(), b.experiment, b.options, nil)
			must(t, err)
			if test.kind == "never ready" {
				r.readyTimeout = 3 * time.Second // for the correct server too
			}
			found, err := r.Run(t.Context())
			must(t, r.Close())
			kept, readErr := result.Read(b.options.Out)
			must(t, readErr)
			if len(kept.Trials) == 0 || len(kept.Trials) != len(found.Trials) || kept.Finished.IsZero() != (test.fatal != "") {
				t.Errorf("got %d of %d trials stored, finished %v; want all stored, and finished: %t", len(kept.Trials), len(found.Trials), kept.Finished, test.fatal == "")
			}
			checkError(t, err, test.fatal)
			for _, trial := range kept.Trials {
				checkFault(t, trial, test.failed, test.slow, test.ended)
			}
		})
	}
}

// TestExitAtTheEndOfAWindowIsReported: a server may exit so late that its trial still completes.
// The exit is then found through the broken connections.
func TestExitAtTheEndOfAWindowIsReported(t *testing.T) {
	b := faulty(t, "leaves")
	r, err := NewRunner(t.Context(), b.experiment, b.options, nil)
	must(t, err)
	defer func() { must(t, r.Close()) }()
	s, err := r.startSubject(t.Context(), Place{Subject: "faulty"}, b.experiment.Loads[0])
	must(t, err)
	c, err := net.Dial("tcp", s.Addr)
	must(t, err)
	defer c.Close()
	_, err = c.Write(make([]byte, 4000))
	must(t, err)
	trial := result.Trial{FailedBecause: []string{"load error: connection reset, 4 times"}}
	err = attributeError(t.Context(), s, &trial, nil)
	checkError(t, stopSubject(s, &trial, err), "exit status 0")
}

// checkError checks for a one-line error that names the server and the fault, or for no error.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || want == "" {
		if err != nil || want != "" {
			t.Errorf("got error %v, want one with %q", err, want)
		}
		return
	}
	if s := err.Error(); strings.Count(s, want) != 1 || strings.Contains(s, "\n") || !strings.Contains(s, "faulty") {
		t.Errorf("got error %q, want one line with the name faulty and once %q", s, want)
	}
}

func checkFault(t *testing.T, trial result.Trial, failed string, slow bool, ended string) {
	t.Helper()
	if trial.Subject == "sound" {
		failed, ended = "", ""
	}
	why := trial.FailedBecause
	if slow {
		why = slices.Concat(why, trial.RejectedBecause)
	}
	said := func(want string) bool {
		return slices.ContainsFunc(why, func(s string) bool { return strings.Contains(s, want) })
	}
	if failed == "" && len(trial.FailedBecause) > 0 || failed != "" && (!said(failed) || trial.Accepted) {
		t.Errorf("%s: got accepted %v, failures %q, reasons for rejection %q, want %q", trial.Subject, trial.Accepted, trial.FailedBecause, trial.RejectedBecause, failed)
	}
	if (ended == "") != (trial.StopFailure == "") || !strings.Contains(trial.StopFailure, ended) {
		t.Errorf("%s: got EndedBadly %q, want %q", trial.Subject, trial.StopFailure, ended)
	}
}

// TestServerThatStopsReadingFailsAsASink: a sink sends no answer, so a server that reads nothing
// would be the cheapest.
func TestServerThatStopsReadingFailsAsASink(t *testing.T) {
	b := faulty(t, "stops reading")
	b.experiment.Workload = "sink"
	b.experiment.Subjects = b.experiment.Subjects[1:]
	found, err := b.run(t.Context(), nil)
	must(t, err)
	for _, trial := range found.Trials {
		checkFault(t, trial, "did not read", true, "")
	}
}

func TestTargetOnThisMachineIsNotItsOwnNeighbour(t *testing.T) {
	b := newBench(t)
	port, err := freeport.Choose("127.0.0.1")
	must(t, err)
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	server := exec.Command(os.Args[0], "faulty", addr, "burns")
	must(t, server.Start())
	defer func() {
		must(t, server.Process.Kill())
		_ = server.Wait() // it was killed
	}()
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			break
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	b.experiment.TimeLimit = workload.Duration(1)
	b.options.Targets = []string{addr}
	r, err := NewRunner(t.Context(), b.experiment, b.options, nil)
	must(t, err)
	found, err := r.Run(t.Context())
	must(t, errors.Join(err, r.Close()))
	if s := found.Subjects[0]; !s.Elsewhere || !s.SameMachine || found.Plan.AAControl != "" {
		t.Errorf("got target %+v and A/A control %q, want a target that is elsewhere and on this machine, without a control", s, found.Plan.AAControl)
	}
	for _, trial := range found.Trials {
		if why := strings.Join(trial.RejectedBecause, "; "); strings.Contains(why, "another process") || trial.Messages == 0 {
			t.Errorf("trial %d: got %d messages, reasons for rejection %q; want messages, and the target not counted as another process", trial.ID, trial.Messages, why)
		}
	}
}

func TestLocalAddressesAreRecognised(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:80": true, "[::1]:80": true, "127.0.0.2:80": true, "localhost:80": true, "0.0.0.0:80": true,
		"192.0.2.1:80": false, "[2001:db8::1]:80": false, "no.such.host.invalid:80": false, "nonsense": false,
	} {
		if got := isLocalAddress(t.Context(), addr); got != want {
			t.Errorf("%s: got isLocalAddress %v, want %v", addr, got, want)
		}
	}
}
