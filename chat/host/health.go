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
	probeFresh  = 5 * time.Second // a probe of the disk stands for those asked for in so long
	probeWithin = 5 * time.Second // how long it may take
	// a batch that was refused counts for so long, unless a later one was taken
	failureHeld = 30 * time.Second
	probeBytes  = 16 << 10 // as the longest line
)

// health knows whether the disk takes messages: by what it said to the last batch, and by a small
// file that is written when somebody asks.
type health struct {
	mu      sync.Mutex
	refused error // of the last batch; nil: it was taken
	at      time.Time
	probed  error // of the last probe
	since   time.Time
	probing chan struct{} // no values, closed when a probe under way is over; nil: there is none
}

// committed is told of every batch.
func (h *health) committed(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refused = err; err != nil {
		h.at = time.Now()
	}
}

// ask says why the disk takes no messages, nil when it does.
func (h *health) ask(dir string) error {
	h.mu.Lock()
	if h.probing == nil && time.Since(h.since) > probeFresh {
		h.probing = make(chan struct{})
		go h.probe(dir, h.probing) // until the disk has answered
	}
	probing := h.probing
	h.mu.Unlock()
	if probing != nil {
		timer := time.NewTimer(probeWithin)
		defer timer.Stop()
		select {
		case <-probing:
		case <-timer.C:
			return fmt.Errorf("the disk has not answered for %v", probeWithin)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refused != nil && time.Since(h.at) < failureHeld {
		return fmt.Errorf("the disk refused messages: %w", h.refused)
	}
	return h.probed
}

// probe has the disk store and remove a small file.
func (h *health) probe(dir string, over chan struct{}) {
	err := writeProbe(filepath.Join(dir, ".probe"))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.probed, h.since, h.probing = err, time.Now(), nil
	close(over)
}

func writeProbe(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("the disk takes no file: %w", err)
	}
	_, err = f.Write(make([]byte, probeBytes))
	err = errors.Join(err, f.Sync(), f.Close(), os.Remove(path))
	if err != nil {
		return fmt.Errorf("the disk takes no messages: %w", err)
	}
	return nil
}

var (
	errBegins = errors.New("the server begins")
	errStops  = errors.New("the server is stopping")
)

// unready says why nobody is let in, nil when they are.
func (h *Host) unready() error {
	switch {
	case h.stopping.Load():
		return errStops
	case !h.serving.Load():
		return errBegins
	}
	return nil
}

// unhealthy says why messages are not taken, nil when they are.
func (h *Host) unhealthy() error {
	if err := h.unready(); err != nil {
		return err
	}
	return h.health.ask(h.Config().Data)
}
