package tcpip

import (
	"weir/tcpip/link"
)

// offerDirect lets the goroutine that writes the other end of the link process frames while the
// reader sleeps (link.DirectReader).
func (l *reader) offerDirect() {
	if q, ok := l.queue.(link.DirectReader); ok {
		q.ProcessDirect(l.processDirect)
	}
}

// processDirect processes frames in the goroutine that wrote them. The reader is in Read, and does
// not return from it meanwhile. So this goroutine has the reader's fields. Timers and sessions stay
// with the reader, which is woken for them: a session may take long, or end its goroutine.
func (l *reader) processDirect(frames []link.Frame) {
	now := l.s.now()
	for len(frames) > 0 {
		n := min(len(frames), batchSize)
		l.feeder.processBatch(frames[:n], now)
		l.answerBatch(now, false)
		frames = frames[n:]
	}
	if l.nextCheckAt == 0 { // as in run; the reader sleeps without this timeout
		l.nextCheckAt = now.Add(checkInterval)
		l.queue.Wake()
	}
}
