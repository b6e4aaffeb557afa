package server

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"
)

// underTest is the engine of the servers that start makes.
var underTest string

// eachEngine runs every test with each engine.
type eachEngine struct{ *testing.M }

// Run implements [goleak.TestingM].
func (e eachEngine) Run() int {
	for _, underTest = range []string{engineNetHTTP, engineHTTP1} {
		if status := e.M.Run(); status != 0 {
			fmt.Println("with the engine " + underTest)
			return status
		}
	}
	return 0
}

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(eachEngine{m},
		// certmagic keeps the first for each authority for the life of the process; the second ends
		// within five seconds of the use of a lock file.
		goleak.IgnoreAnyFunction("github.com/caddyserver/certmagic.(*RingBufferRateLimiter).loop"),
		goleak.IgnoreAnyFunction("github.com/caddyserver/certmagic.keepLockfileFresh"))
}
