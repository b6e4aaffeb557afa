package contract

import (
	"context"
	"net"
	"os/exec"
	"strings"
	"syscall"

	"weir/lab/subject"
)

// BadFlags is the check of invalid flags, for programs with this project's flags. They are rejected
// at once, with one line on standard error and exit status 2.
var BadFlags = Check{Name: "bad flags", Full: true, Own: true, NoServer: true, Run: badFlags}

// PortInUse is the check of a port in use, for programs with this project's flags. The program
// reports it in one line, with exit status 1.
var PortInUse = Check{Name: "port in use", Full: true, Own: true, NoServer: true, Run: portInUse}

// mistakes are flags that the programs must reject.
var mistakes = []struct {
	what   string
	needs  string // placeholder that the run command must contain for this mistake
	change func(*subject.Params)
}{
	{"an unknown workload", "{workload}", func(p *subject.Params) { p.Workload = "dance" }},
	{"a negative size", "{size}", func(p *subject.Params) { p.Size = -1 }},
	{"a negative wait", "{wait_ms}", func(p *subject.Params) { p.WaitMS = -1 }},
	{"a negative sleep", "{sleep_ms}", func(p *subject.Params) { p.SleepMS = -1 }},
	{"an invalid port", "{addr}", func(p *subject.Params) { p.Port = 70000 }},
	{"an invalid address", "{net}", func(p *subject.Params) { p.Net = "nowhere" }},
}

func badFlags(b *Bench) {
	for _, bad := range mistakes {
		if !strings.Contains(strings.Join(b.Subject.RunCmd, " "), bad.needs) {
			continue
		}
		p := b.Params
		bad.change(&p)
		During(bad.what, func() { b.expectExit(b.Subject.Command(p), 2) })
	}
	During("an unknown flag", func() { b.expectExit(append(b.Subject.Command(b.Params), "--no-such-flag"), 2) })
}

func portInUse(b *Bench) {
	l, err := net.Listen("tcp", b.Addr())
	Must(err)
	defer l.Close()
	b.expectExit(b.Subject.Command(b.Params), 1)
}

// expectExit runs a command that must exit by itself with the given status and one line on standard
// error.
func (b *Bench) expectExit(words []string, status int) {
	ctx, cancel := context.WithTimeout(b.Context, b.Timeout)
	defer cancel()
	var said, printed strings.Builder
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.Subject.Dir, &printed, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = b.Timeout
	switch err := cmd.Run(); {
	case ctx.Err() != nil:
		Failf("expected it to exit with status %d, saw it run on (%s)", status, strings.Join(words, " "))
	case cmd.ProcessState == nil:
		Must(err)
	case cmd.ProcessState.ExitCode() != status:
		Failf("expected exit status %d, saw %s and on standard error %q", status, cmd.ProcessState, said.String())
	case strings.Count(said.String(), "\n") != 1 || !strings.HasSuffix(said.String(), "\n"):
		Failf("expected one line on standard error, saw %q", said.String())
	case printed.Len() > 0:
		Failf("expected nothing on standard output, saw %q", printed.String())
	}
}
