package contract

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"

	"weir/lab/subject"
)

// badFlags: what cannot be meant is refused at once, in one line, with status 2.
func badFlags(b *bench) error {
	for _, bad := range []struct {
		what   string
		needs  string // a placeholder without which the mistake cannot be made
		change func(*subject.Params)
	}{
		{"a workload that there is not", "{workload}", func(p *subject.Params) { p.Workload = "dance" }},
		{"a negative size", "{size}", func(p *subject.Params) { p.Size = -1 }},
		{"a negative wait", "{wait_ms}", func(p *subject.Params) { p.WaitMS = -1 }},
		{"a negative sleep", "{sleep_ms}", func(p *subject.Params) { p.SleepMS = -1 }},
		{"a port that is none", "{addr}", func(p *subject.Params) { p.Port = 70000 }},
	} {
		if !strings.Contains(strings.Join(b.subject.RunCmd, " "), bad.needs) {
			continue
		}
		p := b.params
		bad.change(&p)
		if err := b.refuses(b.subject.Command(p), 2); err != nil {
			return fmt.Errorf("%s: %w", bad.what, err)
		}
	}
	if err := b.refuses(append(b.subject.Command(b.params), "--no-such-flag"), 2); err != nil {
		return fmt.Errorf("an unknown flag: %w", err)
	}
	return nil
}

// portInUse: the server says so in one line, with status 1.
func portInUse(b *bench) error {
	l, err := net.Listen("tcp", b.addr())
	if err != nil {
		return err
	}
	defer l.Close()
	return b.refuses(b.subject.Command(b.params), 1)
}

// refuses runs a command that must end by itself with the given status and one line on standard
// error.
func (b *bench) refuses(words []string, status int) error {
	ctx, cancel := context.WithTimeout(b.ctx, b.patience)
	defer cancel()
	var said, printed strings.Builder
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.subject.Dir, &printed, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = b.patience
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("expected it to exit with status %d, saw it go on (%s)", status, strings.Join(words, " "))
	case cmd.ProcessState == nil:
		return err
	case cmd.ProcessState.ExitCode() != status:
		return fmt.Errorf("expected exit status %d, saw %s and on standard error %q", status, cmd.ProcessState, said.String())
	case strings.Count(said.String(), "\n") != 1 || !strings.HasSuffix(said.String(), "\n"):
		return fmt.Errorf("expected one line on standard error, saw %q", said.String())
	case printed.Len() > 0:
		return fmt.Errorf("expected nothing on standard output, saw %q", printed.String())
	}
	return nil
}
