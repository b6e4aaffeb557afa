package netsim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"weir/tcpip/fabric"
)

// SeedRange is a range of seeds.
type SeedRange struct {
	First uint64
	Count int
}

// Seeds is the range of the seeds 1 to n.
func Seeds(n int) SeedRange { return SeedRange{1, n} }

// Seed is the range of one seed.
func Seed(seed uint64) SeedRange { return SeedRange{seed, 1} }

// seedVariable is the environment variable that repeats one seed.
const seedVariable = "WEIR_SEED"

// Run calls a test in a new world for each seed, one after the other, until one fails. It repeats
// that seed with fewer faults, writes a report, and fails t: the message names what is needed to
// fail, the folder of the report and the command that repeats the seed. To count how many seeds
// fail, it runs those behind it for as long again as it took so far, but for 1 to 10 seconds. With
// WEIR_SEED in the environment, only that seed runs.
//
// It is for tests that are not parallel: all random numbers of package crypto come from the seed,
// and the program has one processor while a world runs.
func Run(t *testing.T, seeds SeedRange, test func(*World)) {
	t.Helper()
	seeds = chosenSeeds(t, seeds)
	y := &tally{first: seeds.First, began: time.Now()}
	for n := range seeds.Count {
		w := newWorld(seeds.First+uint64(n), nil)
		w.runIn(t, test)
		y.add(w)
		if w.Failed() {
			y.addRest(t, w, seeds.Count-n-1, y.countTime(t), test)
			explain(t, w, test, y)
			return
		}
	}
	t.Logf("netsim: %d worlds, from seed %d on; %d of them were skipped", seeds.Count, seeds.First, y.skipped)
}

// chosenSeeds returns the seed of the environment, or else the given ones. It ends t if there are
// none, or if t is parallel.
func chosenSeeds(t *testing.T, seeds SeedRange) SeedRange {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Fatal("netsim: this test is parallel: remove t.Parallel, because all worlds share the random numbers of package crypto")
		}
	}()
	cryptotest.SetGlobalRandom(t, 0) // it panics in a parallel test
	if text := os.Getenv(seedVariable); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("netsim: %s is %q: make it the number of a seed", seedVariable, text)
		}
		return Seed(seed)
	}
	if seeds.Count < 1 {
		t.Fatalf("netsim: %d seeds are to be run: make it 1 or more", seeds.Count)
	}
	return seeds
}

// newWorld returns a world that leaves the faults in skip out.
func newWorld(seed uint64, skip map[int]bool) *World {
	return &World{
		seed: seed, skip: skip, random: rand.New(rand.NewPCG(seed, 1)), trace: newTrace(),
		abandoned: make(chan struct{}), never: make(chan struct{}), names: map[string]*machine{},
	}
}

// runIn runs a test in the world, and returns when the world is over or abandoned.
func (w *World) runIn(t *testing.T, test func(*World)) {
	prepareNet()
	emptyPools()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	hadFailed := t.Failed()
	done := make(chan struct{}) // the world is over; closed once
	go func() {                 // until the world is over; an abandoned one keeps it
		defer close(done)
		defer func() {
			if p := recover(); p != nil { // synctest has found that all goroutines wait for ever
				w.add(entry{Text: fmt.Sprint(p), Kind: failedEntry})
			}
		}()
		synctest.Test(t, func(t *testing.T) { w.run(t, test) })
	}()
	w.watch(t, done)
	select {
	case <-done:
	default:
		w.givenUp = true
	}
	if t.Failed() && !hadFailed && !w.Failed() {
		w.fail("the test has failed by a method of its *testing.T: see its message. In a world, call those of the World, which repeat the failure and report its time", "its failure is not one of the World")
	}
}

// prepareNet has package net make the state of all its look-ups outside of a bubble: a channel that
// is made in the bubble of one world ends the process when another one uses it.
var prepareNet = sync.OnceFunc(func() {
	(&net.Resolver{PreferGo: true}).LookupHost(context.Background(), "localhost") //nolint:errcheck // only the attempt counts
})

// emptyPools empties every sync.Pool: a second collection does. A timer or channel that one world
// has put into a pool ends the process when another world uses it.
func emptyPools() {
	runtime.GC()
	runtime.GC()
}

// run runs the test in its bubble.
func (w *World) run(t *testing.T, test func(*World)) {
	cryptotest.SetGlobalRandom(t, w.seed)
	w.TB, w.began = t, time.Now()
	w.bubble.Store(ownBubble())
	w.trace.began = w.began
	w.net = fabric.New(fabric.Config{Seed: w.seed, Ordered: true, Observe: w.trace.observe, Sender: w.trace.sender})
	var cancel context.CancelFunc
	labels := pprof.Labels("netsim", fmt.Sprintf("%s, seed %d", t.Name(), w.seed))
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), labels))
	w.ctx, cancel = context.WithCancel(context.Background())
	w.SetLimit(defaultLimit)
	finished := make(chan struct{}) // the test has returned; closed once
	go func() {                     // until the test returns
		defer close(finished)
		defer w.catch("the test")
		test(w)
	}()
	<-finished
	w.took = w.Elapsed()
	time.Sleep(lastInstant)
	cancel()
	w.stop()
}

// defaultLimit is the default of SetLimit.
const defaultLimit = time.Hour

// catch turns a panic of the calling goroutine into a failure of the world.
func (w *World) catch(who string) {
	if p := recover(); p != nil {
		w.note(failedEntry, "panic in %s: %v\n%s", who, p, debug.Stack())
	}
}

// lastInstant is how long the contexts live when the test has returned: what the programs do at
// that instant is done. A fault of that instant does not happen.
const lastInstant = faultStep / 2

// lastPackets is how long the hosts go on when the test has returned: packets that they have
// written at that instant still enter the network.
const lastPackets = time.Millisecond

// stop ends the world: it calls the functions of Cleanup, stops the hosts, and waits for all
// goroutines.
func (w *World) stop() {
	for {
		w.mu.Lock()
		last := len(w.cleanups) - 1
		if last < 0 {
			w.ended = true
			w.mu.Unlock()
			break
		}
		call := w.cleanups[last]
		w.cleanups = w.cleanups[:last]
		w.mu.Unlock()
		w.runCleanup(call)
	}
	time.Sleep(lastPackets)
	for _, m := range w.hosts {
		m.shutDown()
	}
	w.net.Close()
	time.Sleep(grace)
	synctest.Wait() // for the race detector, all that the goroutines did comes before
	w.limit.Stop()
	if left := leftGoroutines(); left != "" {
		w.abandon("goroutines are left a minute after the end of the world, which must end with their host's context or connections:\n" + left)
	}
}

// runCleanup calls a function of Cleanup in a goroutine of its own, since Fatal ends its caller's.
func (w *World) runCleanup(call func()) {
	done := make(chan struct{}) // the function has returned; closed once
	go func() {                 // until it returns
		defer close(done)
		defer w.catch("a function of Cleanup")
		call()
	}()
	<-done
}

// grace is how long goroutines may go on after the end of the world.
const grace = time.Minute

// abandon gives the world up, because it cannot end. The caller's goroutine never returns: since it
// waits for something outside the bubble, the virtual time stops, and so does the world.
func (w *World) abandon(why string) {
	w.note(failedEntry, "%s", why)
	close(w.abandoned)
	<-w.never
}
