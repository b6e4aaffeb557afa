package log

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The test binary, started again, runs one of these processes:
//
//	writer DIR NAME FROM SEGMENT
//		appends batches of messages "NAME N", N counting from FROM, and prints N when
//		message N is acknowledged, until it is killed or its standard input ends
//	reader DIR
//		reads from the start and follows the log until its standard input ends; prints an
//		error and exits with 1 if a line is invalid or not in order
func child(role string, args []string) int {
	go func() { // ends the process with the test
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	var err error
	switch role {
	case "writer":
		err = childWriter(args)
	case "reader":
		err = childReader(args[0])
	}
	fmt.Println("error:", err)
	return 1
}

func childWriter(args []string) error {
	from, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	segment, err := strconv.ParseInt(args[3], 10, 64)
	if err != nil {
		return err
	}
	l, err := Open(args[0], Options{Segment: segment})
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(uint64(from), 7))
	for {
		var batch []Entry
		for range 1 + rng.IntN(5) {
			batch = append(batch, Entry{Time: time.Now(), Tags: "account=" + args[1], Body: fmt.Sprintf(":%s!u@h PRIVMSG #room :%s %d %s",
				args[1], args[1], from+len(batch), strings.Repeat("x", rng.IntN(300)))})
		}
		b, err := l.Append(batch)
		if err != nil {
			return err
		}
		for range b.Lines {
			if _, err := fmt.Println(from); err != nil {
				return err
			}
			from++
		}
	}
}

// message returns the writer and the number in a line's text.
func message(line Line) (writer string, n int, err error) {
	_, text, _ := strings.Cut(string(line.Plain()), " :")
	if _, err := fmt.Sscan(text, &writer, &n); err != nil {
		return "", 0, fmt.Errorf("got %q, want a writer's name and a number in its text: %w", line, err)
	}
	return writer, n, nil
}

// follow is what a reader knows about the writers.
type follow struct {
	seen map[string][]int
	end  int64 // of the last line
}

// take returns an error if the line does not follow the one before. It records the line's writer
// and number.
func (f *follow) take(line Line) error {
	if line.Offset() < f.end {
		return fmt.Errorf("got %q after a line that ends at offset %d, want offsets that rise", line, f.end)
	}
	f.end = line.Offset() + int64(len(line))
	writer, n, err := message(line)
	if err != nil {
		return err
	}
	f.seen[writer] = append(f.seen[writer], n)
	return nil
}

func newFollow() *follow { return &follow{seen: map[string][]int{}} }

func childReader(dir string) error {
	l, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		return err
	}
	r := l.Stream(0)
	f := newFollow()
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			time.Sleep(time.Millisecond) // others write
			continue
		}
		if err != nil {
			return err
		}
		if err := f.take(line); err != nil {
			return err
		}
		if r.Bad() > 0 {
			return fmt.Errorf("got %d invalid bytes before offset %d, want 0", r.Bad(), line.Offset())
		}
	}
}

// process is a child at work.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	out   *bufio.Scanner
}

func start(t *testing.T, role string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childVariable+"="+role)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &process{cmd, stdin, bufio.NewScanner(stdout)}
}

// numbers reads what a writer acknowledges until it has n or the process is gone.
func (p *process) numbers(n int) (got []int, err error) {
	for len(got) < n && p.out.Scan() {
		k, err := strconv.Atoi(p.out.Text())
		if err != nil {
			return got, errors.New(p.out.Text())
		}
		got = append(got, k)
	}
	return got, nil
}

// kill kills the process with SIGKILL, and returns the acknowledgements that were not read yet.
func (p *process) kill() ([]int, error) {
	if err := p.cmd.Process.Kill(); err != nil {
		return nil, err
	}
	rest, err := p.numbers(1 << 30)
	_ = p.cmd.Wait()
	p.stdin.Close()
	return rest, err
}

// killLoop starts a writer again and again where the one before was acknowledged, and kills it when
// it has acknowledged some more. It returns all that was acknowledged.
func killLoop(t *testing.T, dir, name string, rounds int, seed uint64) (acknowledged []int) {
	rng := rand.New(rand.NewPCG(seed, 2))
	next := 0
	for range rounds {
		p := start(t, "writer", dir, name, strconv.Itoa(next), "5000")
		got, err := p.numbers(1 + rng.IntN(60))
		rest, err2 := p.kill()
		if err := errors.Join(err, err2); err != nil {
			t.Errorf("writer %s, started and killed again and again: %v", name, err)
			return acknowledged
		}
		acknowledged = append(append(acknowledged, got...), rest...)
		if n := len(acknowledged); n > 0 {
			next = acknowledged[n-1] + 1
		}
		next += 1000 // numbers of the killed process's pending messages are not used again
	}
	return acknowledged
}

// TestKilledWritersLoseNothing has several processes write to one room while others read it, kills
// writers in the middle of their work, and wants every acknowledged message once, in its writer's
// order.
func TestKilledWritersLoseNothing(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, dir, Options{}).Close()
	readers := []*process{start(t, "reader", dir), start(t, "reader", dir)}
	names := []string{"ann", "bob", "carl"}
	acknowledged := make([][]int, len(names))
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { acknowledged[i] = killLoop(t, dir, name, rounds, uint64(i)) })
	}
	wg.Wait()
	for _, r := range readers {
		r.stdin.Close() // it exits with 0 unless it found something wrong before
		if r.out.Scan() {
			t.Errorf("a reader beside the writers printed %q, want no fault found", r.out.Text())
		}
		if err := r.cmd.Wait(); err != nil {
			t.Errorf("a reader beside the writers: got %v, want exit status 0", err)
		}
	}
	wantAcknowledged(t, mustOpen(t, dir, Options{ReadOnly: true}), names, acknowledged)
	l := mustOpen(t, dir, Options{})
	wantAcknowledged(t, l, names, acknowledged)
	report, err := Inspect(dir)
	if err != nil || len(report.Faults) > 0 || report.Behind > 0 {
		t.Errorf("Inspect after the kills: got %+v and error %v, want no faults and no bytes behind the committed offset", report, err)
	}
}

// wantAcknowledged wants all that was acknowledged to be there, nothing twice, each writer's
// numbers rising.
func wantAcknowledged(t *testing.T, l *Log, names []string, acknowledged [][]int) {
	t.Helper()
	f := newFollow()
	for _, line := range all(t, l) {
		if err := f.take(Line(line)); err != nil {
			t.Fatal(err)
		}
	}
	total := 0
	for i, name := range names {
		there := map[int]bool{}
		last := -1
		for _, n := range f.seen[name] {
			if n <= last {
				t.Errorf("writer %s: got message %d after %d, want rising numbers (the order of sending)", name, n, last)
			}
			last = n
			there[n] = true
		}
		lost := 0
		for _, n := range acknowledged[i] {
			if !there[n] {
				lost++
			}
		}
		if lost > 0 {
			t.Errorf("writer %s: %d of %d acknowledged messages are not in the log, want 0", name, lost, len(acknowledged[i]))
		}
		total += len(acknowledged[i])
	}
	t.Logf("%d acknowledged, all there", total)
}

// TestALogContinuesAfterKilledWriters keeps one Log open while other writers are killed. Its
// batches follow the lines that those left.
func TestALogContinuesAfterKilledWriters(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir, Options{Segment: 5000})
	var acknowledged []int
	for round := range 10 {
		p := start(t, "writer", dir, "bob", strconv.Itoa(round*1000), "5000")
		if _, err := p.numbers(5); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			n := round*1000 + i
			mustAppend(t, l, Entry{time.Now(), "", fmt.Sprintf(":ann!u@h PRIVMSG #room :ann %d", n)})
			acknowledged = append(acknowledged, n)
		}
		if _, err := p.kill(); err != nil {
			t.Fatal(err)
		}
	}
	wantAcknowledged(t, l, []string{"ann"}, [][]int{acknowledged})
}
