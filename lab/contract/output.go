package contract

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// PollInterval is the interval of checks of the output.
const PollInterval = 5 * time.Millisecond

// OutputGrace is how long output may arrive after the ends of the connections. A published program
// may write only when a child exits.
const OutputGrace = 2 * time.Second

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
