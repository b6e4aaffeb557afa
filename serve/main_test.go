package serve

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// childFlag starts the test binary as a child process of a multi-process model:
// -serve.child=MODEL/FORM/SERVICE.
const childFlag = "-serve.child="

// livelyFlag starts it as a server that collects garbage and ticks beside its loops:
// -serve.lively=MODEL/LOOPS.
const livelyFlag = "-serve.lively="

// starvedFlag starts it as a server that has few descriptors: -serve.starved=MODEL.
const starvedFlag = "-serve.starved="

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], childFlag) {
		os.Exit(beChild(strings.TrimPrefix(os.Args[1], childFlag)))
	}
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], starvedFlag) {
		os.Exit(beStarved(strings.TrimPrefix(os.Args[1], starvedFlag)))
	}
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], livelyFlag) {
		os.Exit(beLively(strings.TrimPrefix(os.Args[1], livelyFlag)))
	}
	// otherwise every child of a test under the race detector ends a second late
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}

func beChild(what string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	part := strings.Split(what, "/")
	way, err := ParseWay(part[0])
	if err == nil {
		s := services[part[2]]
		err = runForm(ctx, way, form(part[1]), s, nil, Options{IsChild: true, FlushTimeout: s.flushTimeout(), LingerTimeout: s.lingerTimeout(), IdleTimeout: s.idle})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	return 0
}
