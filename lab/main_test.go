package lab

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is also the server of these tests: "server ADDR LIMIT" receives bytes on every
// connection. If LIMIT is not 0, it exits with status 3 after that many bytes.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "server" {
		limit, _ := strconv.ParseInt(os.Args[3], 10, 64)
		serve(os.Args[2], limit)
	}
	if len(os.Args) == 4 && os.Args[1] == "hashing" {
		serveHashing(os.Args[2], os.Args[3])
	}
	if len(os.Args) == 4 && os.Args[1] == "forward" {
		forward(os.Args[2], os.Args[3])
	}
	if len(os.Args) == 5 && os.Args[1] == "slow-server" {
		serveSlowly(os.Args[2], os.Args[3], os.Args[4])
	}
	if len(os.Args) == 4 && os.Args[1] == "faulty" {
		misbehave(os.Args[2], os.Args[3])
	}
	if len(os.Args) == 4 && os.Args[1] == "rooms" {
		serveRooms(os.Args[2], os.Args[3])
	}
	if len(os.Args) == 4 && os.Args[1] == "calls" {
		serveCalls(os.Args[2], os.Args[3])
	}
	if len(os.Args) == 3 && os.Args[1] == "stack" {
		serveStack(os.Args[2])
	}
	if len(os.Args) == 4 && os.Args[1] == "inside" {
		insideStack(os.Args[2], os.Args[3])
	}
	if len(os.Args) == 7 && os.Args[1] == "web" {
		serveWeb(os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6])
	}
	// otherwise every server under the race detector exits a second later
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(builtIn)
		os.Exit(code)
	}))
}

func serve(addr string, limit int64) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		panic(err)
	}
	var mu sync.Mutex
	var total int64
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			for b := make([]byte, 4096); ; {
				n, err := c.Read(b)
				mu.Lock()
				if total += int64(n); limit > 0 && total > limit {
					os.Stderr.WriteString("out of luck\n")
					os.Exit(3)
				}
				mu.Unlock()
				if errors.Is(err, io.EOF) {
					c.Close()
					return
				}
			}
		}()
	}
}

// the folder of the program that tests built, for TestMain to remove; empty if none was built
var builtIn string

// weirBinary builds the program whose load generator the trials use.
var weirBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "weir-test")
	if err != nil {
		return "", err
	}
	builtIn = dir
	file := filepath.Join(dir, "weir")
	out, err := exec.Command("go", "build", "-o", file, "weir/cmd/weir").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return file, nil
})
