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

// childFlag starts the test binary as a child process of a way that splits: -serve.child=WAY/FORM/SERVICE.
const childFlag = "-serve.child="

// livelyFlag starts it as a server that collects and ticks beside its loops: -serve.lively=WAY/LOOPS.
const livelyFlag = "-serve.lively="

// starvedFlag starts it as a server that has few descriptors: -serve.starved=WAY.
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
	// or every child of a test under the race detector ends a second late
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
		err = runForm(ctx, way, form(part[1]), s, nil, Options{Inherited: true, Linger: patience, LingerClose: s.lingerClose(), Idle: s.idle})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	return 0
}
