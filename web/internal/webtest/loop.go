package webtest

import (
	"net/http/httptest"
	"testing"

	"weir/web"
)

// loopResponse is a response of an engine on an event loop.
type loopResponse struct {
	*httptest.ResponseRecorder
	left int // calls of LeaveLoop
}

// LeaveLoop counts a call.
func (r *loopResponse) LeaveLoop() { r.left++ }

// LeavesLoop sends a request to a handler as from an engine on an event loop, and returns how often
// the exchange has left the loop: once, or not at all. header has names and values.
func LeavesLoop(t testing.TB, h *web.Handler, method, path string, header ...string) (times int) {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := &loopResponse{ResponseRecorder: httptest.NewRecorder()}
	h.ServeHTTP(w, r)
	return w.left
}
