package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"weir/lab/result"
)

// outcome runs weir and returns its exit status and standard error.
func outcome(t *testing.T, args ...string) (code int, stderr string) {
	t.Helper()
	var wrong bytes.Buffer
	cmd := exec.Command(binary(t), args...)
	cmd.Dir, cmd.Stderr = t.TempDir(), &wrong
	if err := cmd.Run(); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			t.Fatal(err)
		}
		code = exit.ExitCode()
	}
	return code, wrong.String()
}

func TestAWrongCommandLineExitsWith2(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		line string
		code int
		want string
	}{
		{"lba", 2, `did you mean one of "lab", "load"?`},
		{"lab rnu", 2, `did you mean "run"?`},
		{"help lab rnu", 2, `did you mean "run"?`},
		{"lab", 2, "weir lab takes a command: run, list"},
		{"chat user", 2, "takes a command: add, list"},
		{"lab run --qick", 2, `did you mean "--quick"?`},
		{"lab run", 2, "weir lab run im --quick"},
		{"lab run imm", 2, `did you mean "im"?`},
		{"lab run im --subjects c-epol --out none", 2, "no subject"},
		{"lab run im --size x", 2, "--size"},
		{"lab run --get / --subject Upper=x --out none", 2, "inner hyphens"},
		{"lab run --get / --subject m= --out none", 2, "NAME=COMMAND"},
		{"lab run --get / --subject= --out none", 2, "--subject is empty"},
		{"lab run --get / --subject m='x --out none", 2, "an open quote"},
		{"lab run --get / --subject m={prot} --out none", 2, "unknown placeholder {prot}"},
		{"lab run --get / --subject m:70000=x --out none", 2, "70000 is no port"},
		{"lab build unknown", 2, "no subject"},
		{"lab check unknown", 2, "no subject"},
		{"lab check --only mistype", 2, "no check"},
		{"lab measure", 2, "<command>"},
		{"lab gate", 2, "name the load"},
		{"lab gate --load echo", 2, "name the version"},
		{"lab run --get / --knee fast", 2, "write a percentile"},
		{"lab run im --knee p99<5ms", 2, "its messages have no latency"},
		{"lab run --get / --rate 5 --rate-per-connection 5", 2, "give one of them"},
		{"lab run --get / --ws /", 2, "give one of them"},
		{"lab run im --tls", 2, "have no setting tls"},
		{"lab run --get / --insecure --ca a.pem", 2, "give one of them"},
		{"lab check --ws chat --subject a=./a", 2, "is not that of an upgrade"},
		{"lab check --get / --streams 2 --subject a=./a", 2, "--streams"},
		{"lab gate main --load echo", 2, "name the version"},
		{"lab gate main HEAD --load ecko", 2, `did you mean "echo"?`},
		{"lab gate main HEAD --load echo --margin 5", 2, "write 2.5% or 0.025"},
		{"lab gate main HEAD --load echo --confidence 100%", 2, "confidence"},
		{"lab gate main HEAD --load echo --budget 1ms", 2, "budget"},
		{"lab gate main HEAD --load echo --metric cpus", 2, `did you mean "cpu"?`},
		{"lab gate main HEAD --load echo --subject a.toml --run ./a", 2, "--subject"},
		{"lab gate main HEAD --load echo --baseline none.json", 2, "no baseline"},
		{"lab gate main HEAD --load echo --run {addr}", 1, "no git repository"},
		{"load stream nowhere", 2, "nowhere"},
		{"load http nowhere", 2, "nowhere"},
		{"load http --rate 5 -n 3 http://127.0.0.1:1/", 2, "--rate"},
		{"load chat 127.0.0.1", 2, "127.0.0.1"},
		{"load stack pong 127.0.0.1", 2, "ping"},
		{"serve chekc", 2, `did you mean "weir serve check"?`},
		{"serve . --run threads", 2, "chain"},
		{"serve . --listen 8080", 2, "malformed: write HOST:PORT"},
		{"serve . --listen " + taken.Addr().String(), 1, "in use by another program"},
		{"serve . --listen 192.0.2.1:80", 1, "no interface of this machine has this address"},
		{"chat serve --data d --listen 8080", 2, "8080"},
		{"chat serve --data d --listen " + taken.Addr().String(), 1, "in use by another program"},
		{"chat serve --data d --model threads", 2, "threads"},
		{"chat serve --data d --model prefork", 2, "--model: prefork spreads connections over processes, and the rooms of a chat are in one"},
		{"chat serve --data d --run process", 2, "--run: process spreads connections over processes"},
		{"chat serve --data d --log-format xml", 2, "json"},
		{"chat user list", 2, "--data"},
		{"chat search x --limit 0 --data d", 2, "--limit"},
		{"stack up --addr 10.0.0.300/24", 2, "--addr"},
		{"stack up --addr 10.0.0.2/24 --service eco=7", 2, "echo"},
		{"stack up --addr 10.0.0.2/24 --metrics 9100", 2, "malformed"},
		{"stack ping", 2, "<host>"},
		{"stack netstat --most 0", 2, "--most"},
		{"completion dos", 2, "bash"},
	} {
		if code, stderr := outcome(t, strings.Fields(c.line)...); code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("weir %s: got exit status %d and %q, want %d and %q", c.line, code, stderr, c.code, c.want)
		}
	}
}

func TestAnOldSpellingWorksAndIsSaid(t *testing.T) {
	for line, want := range map[string]string{
		"load stream --rate 1 --duration 1ms --size 0 127.0.0.1:1": "--rate is an old spelling, which still works: write --rate-per-connection",
		"chat serve --check --data d --run loop":                   "--run is an old spelling, which still works: write --model",
		"lab run none --namespace":                                 "--namespace is an old spelling, which still works: write --veth",
		"chat serve --data d --check --log json":                   "write --log-format",
		"chat serve --data d --check --log nothing":                "write --log-format",
	} {
		if _, stderr := outcome(t, strings.Fields(line)...); !strings.Contains(stderr, want) {
			t.Errorf("weir %s: got %q, want %q", line, stderr, want)
		}
	}
}

func TestAnInterruptedCommandDoesNotSpeakOfContexts(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{context.Canceled, "weir: interrupted\n"},
		{fmt.Errorf("lab: %w", context.Canceled), "weir: interrupted\n"},
		{fmt.Errorf("dial tcp 192.0.2.1:80: %w", errors.New("operation was canceled")), "weir: interrupted: dial tcp 192.0.2.1:80\n"},
		{errors.Join(errors.New("3 complete trials kept in runs/x"), context.Canceled), "weir: interrupted: 3 complete trials kept in runs/x\n"},
	} {
		var out bytes.Buffer
		if code := reportExit(ctx, &out, c.err); code != exitInterrupted || out.String() != c.want {
			t.Errorf("%q: got exit status %d and %q, want %d and %q", c.err, code, out.String(), exitInterrupted, c.want)
		}
	}
}

func TestEachOfSeveralErrorsHasALine(t *testing.T) {
	both := errors.Join(errors.New("server \"a\": no room"), fmt.Errorf("server \"b\": %w", errors.Join(errors.New("no file"), errors.New("no name"))))
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	const lines = "server \"a\": no room\nweir: server \"b\": no file\nweir: no name\n"
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{t.Context(), both, "weir: " + lines},
		{canceled, both, "weir: interrupted: " + lines},
		{t.Context(), &signalled{syscall.SIGTERM, both}, "weir: stopped at once by a second signal (terminated): " + lines},
	} {
		var out bytes.Buffer
		if reportExit(c.ctx, &out, c.err); out.String() != c.want {
			t.Errorf("got %q, want %q", out.String(), c.want)
		}
	}
}

func TestARunWithoutAnAcceptedTrialExitsWith3(t *testing.T) {
	busy := result.Trial{RejectedBecause: []string{"another process took 12.0 % of a core: chromium (process 7)"}}
	late := result.Trial{RejectedBecause: []string{"generator late: median 300 us, limit 100 us"}}
	busier := result.Trial{RejectedBecause: []string{"another process took 40.5 % of a core: chromium (process 7)"}}
	err := answersNothing(&result.Results{Trials: []result.Trial{busy, late, busier}})
	var out bytes.Buffer
	if code := reportExit(t.Context(), &out, err); code != exitNothing || !strings.Contains(out.String(), "another process took CPU: chromium:") {
		t.Errorf("got exit status %d and %q, want %d and the most frequent reason", code, out.String(), exitNothing)
	}
	for _, answer := range []result.Trial{{Accepted: true}, {FailedBecause: []string{"a wrong echo"}}} {
		if err := answersNothing(&result.Results{Trials: []result.Trial{busy, answer}}); err != nil {
			t.Errorf("%+v: got error %v, want none: this trial is an answer", answer, err)
		}
	}
}
