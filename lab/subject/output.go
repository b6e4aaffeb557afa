package subject

import (
	"io"
	"os"
	"time"
)

const (
	// readPause is the time between two reads of a subject's output. A server that logs a line for
	// each request would otherwise wake the lab for each, on the cores that it measures.
	readPause = 20 * time.Millisecond
	// outputBuffer is how many bytes a subject can write in that time without waiting.
	outputBuffer = 1 << 20
)

// read copies from a pipe until its end.
func (p *Process) read(from *os.File, to io.Writer) {
	defer p.readers.Done()
	copyInPieces(to, from, p.done)
}

// copyInPieces copies what from has about every readPause, until its end or an error. It does not
// pause while from has more, nor once hurry is closed.
func copyInPieces(to io.Writer, from io.Reader, hurry <-chan struct{}) {
	buf := make([]byte, 64<<10)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		n, err := from.Read(buf)
		_, _ = to.Write(buf[:n])
		if err != nil {
			return
		}
		if n == len(buf) {
			continue
		}
		pause.Reset(readPause)
		select {
		case <-pause.C:
		case <-hurry:
		}
	}
}
