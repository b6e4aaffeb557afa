//go:build !linux

package sampler

import (
	"errors"
	"time"

	"weir/lab/sample"
)

// Sampler is not available on this system.
type Sampler struct{}

// Check returns an error on this system.
func Check() error { _, err := Start(nil, 0); return err }

// Start returns an error on this system.
func Start(*sample.Group, time.Duration) (*Sampler, error) {
	return nil, errors.New("sampling call stacks needs Linux: run the lab there")
}

// Stop is never called on this system.
func (*Sampler) Stop() (*Recording, error) { return nil, nil }
