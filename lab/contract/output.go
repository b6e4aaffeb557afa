package contract

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"weir/lab/subject"
)

// PollInterval is the interval of checks of the output.
const PollInterval = 5 * time.Millisecond

// OutputGrace is how long output may arrive after the ends of the connections. A published program
// may write only when a child exits.
const OutputGrace = 2 * time.Second

const (
	// maxOutput limits the standard output of a server, which is kept in a file, in bytes. The checks
	// have it print a tenth of that at most.
	maxOutput = 512 << 20
	// outputPoll is the interval at which its size is read.
	outputPoll = 50 * time.Millisecond
)

// limitOutput kills the server if it prints more than maxOutput bytes, until over is closed.
func (b *Bench) limitOutput(p *subject.Process, over <-chan struct{}) {
	tick := time.NewTicker(outputPoll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-over:
			return
		}
		if info, err := b.out.Stat(); err != nil || info.Size() <= maxOutput {
			continue
		}
		b.flooded.Store(true)
		for _, pid := range p.Left() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// ReadOutput returns the server's standard output so far. Published programs print what they
// received by %q; ReadOutput undoes that.
func (b *Bench) ReadOutput() []byte {
	text, err := os.ReadFile(b.out.Name())
	Must(err)
	if b.Subject.Contract == "published" {
		return unquote(text)
	}
	return text
}

// NoOutput judges that there is no output.
func NoOutput(output []byte) error {
	if len(output) > 0 {
		return fmt.Errorf("standard output: expected none, saw %d bytes: %.60q", len(output), output)
	}
	return nil
}

// unquote undoes Go's %q: text is a sequence of quoted strings, optionally separated by newlines.
// Any other text is unchanged.
func unquote(text []byte) []byte {
	if !bytes.HasPrefix(text, []byte{'"'}) {
		return text
	}
	var plain []byte
	for rest := string(text); rest != ""; {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return append(plain, rest...)
		}
		part, _ := strconv.Unquote(quoted)
		plain, rest = append(plain, part...), string(bytes.TrimLeft([]byte(rest[len(quoted):]), "\r\n"))
	}
	return plain
}

// AwaitOutput waits for at least n bytes of output. It stops waiting when the server has exited.
func (b *Bench) AwaitOutput(n int, within time.Duration) {
	for deadline := time.Now().Add(within); ; time.Sleep(PollInterval) {
		dead := b.Process.Exit() != nil
		seen := len(b.ReadOutput())
		if seen >= n {
			return
		}
		Must(b.Context.Err())
		Expect(!dead && !time.Now().After(deadline), "expected %d bytes of output within %v, saw %d", n, within, seen)
	}
}
