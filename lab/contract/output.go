package contract

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// look is the time between two looks at the output.
const look = 5 * time.Millisecond

// afterEnd is how long output may come after the ends of the connections: published programs write
// when a child exits.
const afterEnd = 2 * time.Second

// output is all that the server wrote to standard output so far, the escapes of a published program
// undone.
func (b *bench) output() ([]byte, error) {
	text, err := os.ReadFile(b.out.Name())
	if err != nil || b.subject.Contract != "published" {
		return text, err
	}
	return unquote(text), nil
}

// unquote undoes Go's %q: text is a row of quoted strings, perhaps with blanks between them. The
// part that is not stays as it is.
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

// written waits until at least n bytes of output are there. It does not wait in vain for a dead
// server.
func (b *bench) written(n int, within time.Duration) error {
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
		time.Sleep(look)
	}
}

// settle waits for what the connections sent to come out, and returns what judges it. That it is
// short in time is no error yet: the judgement says which bytes are missing.
func (b *bench) settle(amounts []amount) (verify, error) {
	if b.echoes() {
		return nothing, nil
	}
	total := 0
	for _, a := range amounts {
		total += a.least
	}
	_ = b.written(total, afterEnd)
	return exactly(amounts), nil
}
