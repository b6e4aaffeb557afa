package server

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"weir/serve"
)

// underTest is the engine of the servers that start makes, modelUnderTest their concurrency model.
var (
	underTest      string
	modelUnderTest serve.Way
)

// eachEngine runs every test with each engine, and with each concurrency model.
type eachEngine struct{ *testing.M }

// Run implements [goleak.TestingM].
func (e eachEngine) Run() int {
	for _, v := range []struct {
		engine string
		model  serve.Way
	}{{NetHTTP, serve.Goroutine}, {HTTP1, serve.Goroutine}, {HTTP1, serve.Coroutine}, {HTTP1, serve.Loop}} {
		underTest, modelUnderTest = v.engine, v.model
		if status := e.M.Run(); status != 0 {
			fmt.Printf("with the engine %s, by %s\n", v.engine, v.model)
			return status
		}
	}
	return 0
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], childFlag) {
		os.Exit(beChild(strings.TrimPrefix(os.Args[1], childFlag), os.Args[2:]))
	}
	goleak.VerifyTestMain(eachEngine{m},
		// certmagic keeps the first for each authority for the life of the process; the second ends
		// within five seconds of the use of a lock file.
		goleak.IgnoreAnyFunction("github.com/caddyserver/certmagic.(*RingBufferRateLimiter).loop"),
		goleak.IgnoreAnyFunction("github.com/caddyserver/certmagic.keepLockfileFresh"))
}
