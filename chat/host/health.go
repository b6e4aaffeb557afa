package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	probeMaxAge  = 5 * time.Second // age up to which the result of a probe is used again
	probeTimeout = 5 * time.Second // time limit of a probe
	// time for which a refused batch makes the server unhealthy, unless a later one succeeds
	failureDuration = 30 * time.Second
	probeBytes      = 16 << 10 // size of the longest line
)

// health monitors whether the disk takes messages, by the result of the last batch and by a small
// file that is written on request.
type health struct {
	mu          sync.Mutex
	commitErr   error // error of the last batch; nil: it was stored
	commitErrAt time.Time
	probeErr    error // error of the last probe
	probedAt    time.Time
	probing     chan struct{} // closed when the running probe is done; nil: none runs
}

// onCommit records the result of a batch.
func (h *health) onCommit(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.commitErr = err; err != nil {
		h.commitErrAt = time.Now()
	}
}

// check returns an error if the disk takes no messages. It probes the disk if the last probe is too
// old.
func (h *health) check(dir string) error {
	h.mu.Lock()
	if h.probing == nil && time.Since(h.probedAt) > probeMaxAge {
		h.probing = make(chan struct{})
		go h.probe(dir, h.probing) // until the disk has answered
	}
	probing := h.probing
	h.mu.Unlock()
	if probing != nil {
		timer := time.NewTimer(probeTimeout)
		defer timer.Stop()
		select {
		case <-probing:
		case <-timer.C:
			return fmt.Errorf("the disk has not answered for %v", probeTimeout)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.commitErr != nil && time.Since(h.commitErrAt) < failureDuration {
		return fmt.Errorf("the disk refused messages: %w", h.commitErr)
	}
	return h.probeErr
}

// probe writes, syncs and removes a small file.
func (h *health) probe(dir string, over chan struct{}) {
	err := writeProbe(filepath.Join(dir, ".probe"))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.probeErr, h.probedAt, h.probing = err, time.Now(), nil
	close(over)
}

func writeProbe(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("the disk cannot create a file: %w", err)
	}
	_, err = f.Write(make([]byte, probeBytes))
	err = errors.Join(err, f.Sync(), f.Close(), os.Remove(path))
	if err != nil {
		return fmt.Errorf("the disk cannot store messages: %w", err)
	}
	return nil
}

var (
	errStarting = errors.New("the server is starting")
	errStopping = errors.New("the server is stopping")
)

// readyError returns why clients are not accepted, nil if they are.
func (h *Host) readyError() error {
	switch {
	case h.stopping.Load():
		return errStopping
	case !h.serving.Load():
		return errStarting
	}
	return nil
}

// healthError returns why messages are not stored, nil if they are.
func (h *Host) healthError() error {
	if err := h.readyError(); err != nil {
		return err
	}
	return h.health.check(h.Config().Data)
}
