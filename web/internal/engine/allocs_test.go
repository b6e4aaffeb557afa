//go:build !race

package engine

import (
	"net/http"
	"runtime"
	"testing"
	"time"
)

func TestAKeepAliveExchangeAllocatesNothing(t *testing.T) {
	content, fields := make([]byte, 4096), []string{"text/plain"}
	s := New(Config{HeadTimeout: time.Minute, IdleTimeout: time.Minute, SlowTransferGrace: time.Minute, Handler: reusing{func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = fields
		w.(interface {
			Respond(int, []byte) (int64, error)
		}).Respond(200, content)
	}}})
	allocated := func(requests int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s.ServeConn(&repeater{request: get, left: requests, quiet: true}, nil, nil)
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	allocated(10)
	// The connection allocates, and the date once a second.
	if few, many := allocated(10), allocated(10_010); many > few+100 {
		t.Errorf("10,000 exchanges allocated %d times, want (nearly) 0", many-few)
	}
}
