package reason

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"weir/lab/result"
)

const (
	repetitions = 9
	repetition  = 35 * time.Millisecond // all repetitions take less than 2 s
)

// pingPong passes control n times to another side and back.
type pingPong struct {
	between, how string
	round        float64 // switches per round
	start        func() (rounds func(n int) error, stop func() error, err error)
}

var pingPongs = []pingPong{
	{"processes", "a byte sent through pipes to cat and back, both on one core; a write, a read and half a poll are in each switch", 2, pipeToProcess},
	{"threads", "a byte sent through pipes to another thread and back, both on one core; a write, a read and a poll are in each switch", 2, pipeToThread},
	{"goroutines", "a value handed over an unbuffered channel and back, on one core", 2, channelToGoroutine},
	{"channel", "a value put into a channel of 64 and taken out by another goroutine, on one core", 1, bufferedChannel},
	{"coroutines", "iter.Pull: into the coroutine and back", 2, pull},
}

// SwitchCosts measures the cost of one switch between processes, threads, goroutines and
// coroutines, and over a channel. Each value is the median of nine repetitions of 35 ms. It sets
// GOMAXPROCS to 1 for the values of Go, and to at least 3 for the others, and restores it, so
// nothing else should run in this process at the same time. Values that cannot be measured are
// omitted, with the reasons in the error.
func SwitchCosts(ctx context.Context) (costs []result.SwitchCost, err error) {
	for _, p := range pingPongs {
		if ctx.Err() != nil {
			return costs, errors.Join(err, ctx.Err())
		}
		c, failed := p.measure()
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("switches between %s cannot be measured: %w", p.between, failed))
			continue
		}
		costs = append(costs, c)
	}
	return costs, err
}

// measure runs on a separate thread, which ends with its goroutine, because it is bound to one
// core.
func (p pingPong) measure() (c result.SwitchCost, err error) {
	done := make(chan struct{}) // closed when the measuring goroutine has ended
	go func() {
		defer close(done)
		c, err = p.measureHere()
	}()
	<-done
	return c, err
}

func (p pingPong) measureHere() (c result.SwitchCost, err error) {
	rounds, stop, err := p.start()
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	n, took := 16, time.Duration(0)
	for took < repetition/2 { // find the number of rounds in half a repetition
		n *= 2
		if took, err = timed(rounds, n); err != nil {
			return c, err
		}
	}
	n = int(float64(n) * float64(repetition) / float64(took))
	var ns []float64
	for range repetitions {
		if took, err = timed(rounds, n); err != nil {
			return c, err
		}
		ns = append(ns, float64(took)/float64(n)/p.round)
	}
	slices.Sort(ns)
	return result.SwitchCost{Between: p.between, NS: ns[len(ns)/2], Low: ns[0], High: ns[len(ns)-1], How: p.how}, nil
}

func timed(rounds func(int) error, n int) (time.Duration, error) {
	began := time.Now()
	err := rounds(n)
	return time.Since(began), err
}

// bind locks the goroutine to its thread and the thread to the first allowed core. The thread is
// not unlocked: it ends with the goroutine.
func bind() error {
	runtime.LockOSThread()
	var set, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return err
	}
	cpu := 0
	for !set.IsSet(cpu) {
		cpu++
	}
	one.Set(cpu)
	return unix.SchedSetaffinity(0, &one)
}

// pipes creates two pipes, one per direction.
func pipes() (there, back [2]int, err error) {
	if err = unix.Pipe2(there[:], unix.O_CLOEXEC); err != nil {
		return there, back, err
	}
	if err = unix.Pipe2(back[:], unix.O_CLOEXEC); err != nil {
		closeAll(there[:]...)
	}
	return there, back, err
}

func closeAll(fds ...int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// bounce sends a byte n times and waits each time until it is returned.
func bounce(out, in int) func(n int) error {
	return func(n int) error {
		for range n {
			if !sendByte(out) || !awaitByte(in) {
				return errors.New("the other side has closed its pipe")
			}
		}
		return nil
	}
}

// pipeToProcess uses cat as the other side, which exists on every machine and inherits the core.
func pipeToProcess() (func(int) error, func() error, error) {
	there, back, err := pipes()
	if err != nil {
		return nil, nil, err
	}
	restore := roomForThreads()
	in, out := os.NewFile(uintptr(there[0]), "there"), os.NewFile(uintptr(back[1]), "back")
	defer in.Close()
	defer out.Close()
	cmd := exec.Command("cat")
	cmd.Stdin, cmd.Stdout = in, out
	if err = bind(); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		closeAll(there[1], back[0])
		restore()
		return nil, nil, err
	}
	return bounce(there[1], back[0]), func() error { closeAll(there[1], back[0]); restore(); return cmd.Wait() }, nil
}

func pipeToThread() (func(int) error, func() error, error) {
	there, back, err := pipes()
	if err != nil {
		return nil, nil, err
	}
	restore := roomForThreads()
	ended := make(chan error, 1) // one result, from the other thread's goroutine
	go func() {
		defer closeAll(back[1], there[0])
		err := bind()
		for err == nil && awaitByte(there[0]) && sendByte(back[1]) {
		}
		ended <- err
	}()
	err = bind()
	stop := func() error {
		closeAll(there[1], back[0])
		defer restore()
		return errors.Join(err, <-ended)
	}
	return bounce(there[1], back[0]), stop, nil
}

func channelToGoroutine() (func(int) error, func() error, error) {
	before := runtime.GOMAXPROCS(1)
	// this goroutine sends on and closes there; the other sends on and closes back
	there, back := make(chan int), make(chan int)
	go func() {
		defer close(back)
		for v := range there {
			back <- v
		}
	}()
	rounds := func(n int) error {
		for i := range n {
			there <- i
			<-back
		}
		return nil
	}
	return rounds, func() error { close(there); <-back; runtime.GOMAXPROCS(before); return nil }, nil
}

func bufferedChannel() (func(int) error, func() error, error) {
	before := runtime.GOMAXPROCS(1)
	rounds := func(n int) error {
		c := make(chan int, 64) // this goroutine sends and closes, as a stage of a pipeline
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range c {
			}
		}()
		for i := range n {
			c <- i
		}
		close(c)
		<-done
		return nil
	}
	return rounds, func() error { runtime.GOMAXPROCS(before); return nil }, nil
}

func pull() (func(int) error, func() error, error) {
	next, stop := iter.Pull(func(yield func(int) bool) {
		for yield(0) {
		}
	})
	rounds := func(n int) error {
		for range n {
			next()
		}
		return nil
	}
	return rounds, func() error { stop(); return nil }, nil
}
