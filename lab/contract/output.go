package contract

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// pollInterval is the interval of checks of the output.
const pollInterval = 5 * time.Millisecond

// outputGrace is how long output may arrive after the ends of the connections. A published program,
// kept as its authors published it (see the package's comment), may write only when a child exits.
const outputGrace = 2 * time.Second

// output returns the server's standard output so far. Published programs print what they received
// by %q; output undoes that.
func (b *bench) output() ([]byte, error) {
	text, err := os.ReadFile(b.out.Name())
	if err != nil || b.subject.Contract != "published" {
		return text, err
	}
	return unquote(text), nil
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

// awaitBytes waits for at least n bytes of output. It stops waiting when the server has exited.
func (b *bench) awaitBytes(n int, within time.Duration) error {
	deadline := time.Now().Add(within)
	for {
		dead := b.process.Exit() != nil
		output, err := b.output()
		switch {
		case err != nil:
			return err
		case len(output) >= n:
			return nil
		case b.ctx.Err() != nil:
			return b.ctx.Err()
		case dead || time.Now().After(deadline):
			return fmt.Errorf("expected %d bytes of output within %v, saw %d", n, within, len(output))
		}
		time.Sleep(pollInterval)
	}
}

// awaitAmounts waits for the output of what the connections sent, and returns the function that
// judges it. An echo server must print nothing. Missing output is no error here: the judgement
// reports which bytes are missing.
func (b *bench) awaitAmounts(amounts []amount) (verify, error) {
	if b.echoes() {
		return noOutput, nil
	}
	total := 0
	for _, a := range amounts {
		total += a.least
	}
	_ = b.awaitBytes(total, outputGrace)
	return expectAmounts(amounts), nil
}
