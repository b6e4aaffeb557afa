//go:build linux

package chattest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/chat/log"
)

const (
	parallelEach    = 150 // messages of each writer
	parallelWriters = 5   // the first two are in Go, the others in C
)

// Programs in Go and in C write to one log and read it concurrently. No message overwrites another
// one, no reader sees a partial message, all readers see the same order, and no writer waits for
// readers.
func TestGoAndCShareOneLog(t *testing.T) {
	tool := logtool(t)
	data := t.TempDir()
	path := filepath.Join("rooms", "#room")
	if err := os.MkdirAll(filepath.Join(data, path), 0o700); err != nil {
		t.Fatal(err)
	}
	first := openLog(t, data, path) // readers need an existing log
	var all sync.WaitGroup
	var orders [2][]int64
	run := func(f func() error) {
		all.Go(func() {
			if err := f(); err != nil {
				t.Error(err)
			}
		})
	}
	total := strconv.Itoa(parallelWriters * parallelEach)
	for range 2 {
		run(func() error { return runTool(tool, "read", data, path, total) })
	}
	for i := range orders {
		l := openLog(t, data, path)
		run(func() (err error) {
			orders[i], err = follow(l, parallelWriters*parallelEach)
			return err
		})
	}
	for writer := range parallelWriters {
		if writer > 1 {
			run(func() error {
				return runTool(tool, "write", data, path, strconv.Itoa(writer), strconv.Itoa(parallelEach))
			})
			continue
		}
		l := openLog(t, data, path)
		run(func() error { return write(l, writer) })
	}
	all.Wait()
	if t.Failed() {
		return
	}
	for i := range orders {
		if fmt.Sprint(orders[i]) != fmt.Sprint(orders[0]) {
			t.Errorf("two readers of one log got different orders: offsets\n%v\nwant the same\n%v", orders[i], orders[0])
		}
	}
	if first.Committed() <= orders[0][len(orders[0])-1] {
		t.Errorf("got the committed offset %d, want it after the last line, which is at %d", first.Committed(), orders[0][len(orders[0])-1])
	}
}

// logtool builds the test program in C.
func logtool(t *testing.T) string {
	t.Helper()
	if _, err := chatdBinary(); err != nil {
		t.Skipf("chatd: %v", err)
	}
	dir, err := buildFolder()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "check", "logtool")
	if out, err := exec.Command("make", "-s", "-C", "../../c", "OUT="+dir, "CHECKED=-O1", file).CombinedOutput(); err != nil {
		t.Fatalf("building logtool: %v\n%s", err, out)
	}
	return file
}

func runTool(tool string, args ...string) error {
	cmd := exec.Command(tool, args...)
	said := &tail{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return err
	}
	late := time.AfterFunc(waitLimit, func() { cmd.Process.Kill() })
	defer late.Stop()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("logtool %s: %w: %s", strings.Join(args, " "), err, said)
	}
	return nil
}

func openLog(t *testing.T, data, path string) *log.Log {
	t.Helper()
	l, err := log.Open(filepath.Join(data, path), log.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// write writes the same lines as c/test/lines.c.
func write(l *log.Log, writer int) error {
	for i := range parallelEach {
		body := fmt.Sprintf(":w%d!b@c PRIVMSG #room :%d %d %s", writer, writer, i, strings.Repeat("x", 20+i%300))
		if _, err := l.Append([]log.Entry{{Time: time.Now(), Body: body}}); err != nil {
			return err
		}
	}
	return nil
}

// follow reads n lines, checks that each is the next of its writer, and returns their offsets.
func follow(l *log.Log, n int) (offsets []int64, err error) {
	r := l.Stream(0)
	defer r.Close()
	var next [parallelWriters]int
	for end := time.Now().Add(waitLimit); len(offsets) < n; {
		line, err := r.Next()
		if errors.Is(err, io.EOF) && time.Now().Before(end) {
			time.Sleep(100 * time.Microsecond)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("got %d lines, want %d: %w", len(offsets), n, err)
		}
		_, text, _ := strings.Cut(string(line.Plain()), " :")
		var writer, number int
		if _, err := fmt.Sscanf(text, "%d %d", &writer, &number); err != nil || number != next[writer] {
			return nil, fmt.Errorf("got line %.40q, want number %d of its writer", text, next[writer])
		}
		next[writer]++
		offsets = append(offsets, line.Offset())
	}
	if bad := r.Bad(); bad > 0 {
		return nil, fmt.Errorf("got %d bytes that belong to no complete line, want 0", bad)
	}
	return offsets, nil
}
