package tcpip

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"weir/tcpip/link"
)

// A program with one listener has at most 3.9 MB.
func TestAProgramWithAListenerIsSmall(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the size is that for amd64")
	}
	binary := filepath.Join(t.TempDir(), "listener")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, "./testdata/listener")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	i, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	if i.Size() > 3_900_000 {
		t.Errorf("the program has %d bytes, want at most 3.9 MB", i.Size())
	}
}

// A stack that does nothing has at most 2 MB of heap.
func TestAnIdleStackTakesLittleMemory(t *testing.T) {
	before := heap()
	l, _ := link.Pair(link.PairConfig{})
	s := stack(t, Config{Link: l, Addrs: prefixes("10.0.0.2/24", "fd00::2/64")})
	listen(t, s, ":80")
	if used := heap() - before; used > 2<<20 {
		t.Errorf("an idle stack takes %d bytes of heap, want at most 2 MiB", used)
	}
	runtime.KeepAlive(s)
}

// The default limit of the buffers follows the memory limit of the program.
func TestBuffersFollowTheMemoryLimit(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(40 << 20))
	if _, limit := stack(t, Config{}).Memory(); limit != 10<<20 {
		t.Errorf("with a memory limit of 40 MiB: got %d bytes for buffers, want a quarter", limit)
	}
	debug.SetMemoryLimit(100 << 30)
	if _, limit := stack(t, Config{}).Memory(); limit != 256<<20 {
		t.Errorf("with a memory limit of 100 GiB: got %d bytes for buffers, want 256 MiB", limit)
	}
}

// 64 bulk connections, both ends of them in a program with GOMEMLIMIT=20MiB, go on, and the garbage
// collector does not take over.
func TestBulkConnectionsGoOnInLittleMemory(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the test starts itself, which it cannot in an emulator")
	}
	if os.Getenv("WEIR_TEST_LITTLE_MEMORY") == "" {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBulkConnectionsGoOnInLittleMemory$", "-test.v")
		child.Env = append(os.Environ(), "GOMEMLIMIT=20MiB", "WEIR_TEST_LITTLE_MEMORY=1")
		out, err := child.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	a, b := hosts(t, link.PairConfig{})
	l := listen(t, b, ":9")
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() { sendMiB(t, a, b.Addrs()[0].Addr().String()+":9") })
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer c.Close()
			if n, err := io.Copy(io.Discard, struct{ io.Reader }{c}); n != int64(bulkBytes) || err != nil {
				t.Errorf("got %d bytes, %v; want %d", n, err, bulkBytes)
			}
		})
	}
	all.Wait()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%d MiB from the system, of it heap in use %d MiB, GC fraction of the processors %.2f", m.Sys>>20, m.HeapInuse>>20, m.GCCPUFraction)
	if m.GCCPUFraction > 0.5 || m.Sys > 40<<20 {
		t.Errorf("got %d MiB from the system and a GC fraction of %.2f, want at most 40 MiB and 0.5", m.Sys>>20, m.GCCPUFraction)
	}
}

// bulkBytes is how many bytes a bulk connection sends: several times its share of the memory.
var bulkBytes = func() int {
	if raced {
		return 1 << 20
	}
	return 4 << 20
}()

func sendMiB(t *testing.T, s *Stack, to string) {
	c, err := s.Dial("tcp", to)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	piece := make([]byte, 16<<10)
	for range bulkBytes / len(piece) {
		if _, err := c.Write(piece); err != nil {
			t.Error(err)
			return
		}
	}
}
