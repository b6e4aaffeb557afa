package chat

import (
	"sync"
	"testing"
)

// A worker that the disk holds up may end its delivery while the service closes.
func TestFanoutsMayBeClosedDuringADelivery(t *testing.T) {
	var f fanouts
	var deliveries sync.WaitGroup
	for range 4 {
		deliveries.Go(func() {
			for range 1000 {
				f.SendAll(nil)
			}
		})
	}
	for range 1000 {
		f.close()
	}
	deliveries.Wait()
}
