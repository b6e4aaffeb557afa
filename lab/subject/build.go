package subject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"weir/internal/printable"
	"weir/internal/tail"
)

// errorLines is the number of last lines of a tool's output in an error.
const errorLines = 12

// Build runs the subject's build command, if it has one. log (may be nil) receives the tool's
// output. Concurrent builds of one subject, also by several processes, run one after another. The
// error contains the tool's last lines. When the tool or ctx ends, the processes that the tool
// started are killed. A build has no time limit of its own.
func (s *Subject) Build(ctx context.Context, log io.Writer) error {
	if len(s.BuildCmd) == 0 {
		return nil
	}
	unlock, err := s.lock(ctx, syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock()
	last := tail.New(16 << 10)
	cmd := s.tool(ctx, s.BuildCmd)
	cmd.Stdout = last
	if log != nil {
		cmd.Stdout = io.MultiWriter(last, log)
	}
	cmd.Stderr = cmd.Stdout
	return s.buildError(ctx, s.runTool(cmd), last.String())
}

// buildError returns why a build failed; nil if it did not.
func (s *Subject) buildError(ctx context.Context, err error, printed string) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s: build interrupted: %w", s.Name, ctx.Err())
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%s: cannot build: %s", s.Name, NotInstalled(s.BuildCmd[0]))
	}
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	if len(lines) > errorLines {
		lines = lines[len(lines)-errorLines:]
	}
	return fmt.Errorf("%s: build failed (%w): %s\n%s", s.Name, err,
		s.atShell(s.fillFolders(s.BuildCmd)), printable.Lines(strings.Join(lines, "\n")))
}

// lock separates builds and starts of one subject, across processes. A build holds it exclusively
// and a start shares it, so that an incomplete program is never started. ctx limits the wait.
func (s *Subject) lock(ctx context.Context, how int) (unlock func(), err error) {
	if err := os.MkdirAll(s.Out, 0o755); err != nil {
		return nil, fmt.Errorf("%s: cannot create the folder of its build: %w", s.Name, err)
	}
	f, err := os.OpenFile(filepath.Join(s.Out, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot lock its build: %w", s.Name, err)
	}
	if err := awaitLock(ctx, f, how); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: cannot lock its build in %s: %w", s.Name, s.Out, err)
	}
	return func() { f.Close() }, nil
}

// awaitLock locks a file as soon as no other process holds it.
func awaitLock(ctx context.Context, f *os.File, how int) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if err != syscall.EINTR && err != syscall.EWOULDBLOCK {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
