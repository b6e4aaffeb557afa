package server

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/serve"
)

// manyRequests returns the number of requests of TestManyRequestsLeaveNothing, of each engine and
// model: the environment variable WEIR_WEB_REQUESTS, or a few.
func manyRequests() int64 {
	if n, err := strconv.ParseInt(os.Getenv("WEIR_WEB_REQUESTS"), 10, 64); err == nil {
		return n
	}
	return 2_000
}

// echoContent answers with the path and the content of the request.
var echoContent = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	fmt.Fprintf(w, "%s %d ", r.URL.Path, len(content))
	_, _ = w.Write(content)
})

// TestManyRequestsLeaveNothing: each client gets the responses to its own requests, whatever others
// do, and in the end no connection, no descriptor and no child process is left. TestMain looks for
// goroutines.
func TestManyRequestsLeaveNothing(t *testing.T) {
	t.Run("", func(t *testing.T) { checkLeavesNothing(t, Config{}, manyRequests()) })
	if underTest != HTTP1 || modelUnderTest != serve.Goroutine {
		return // the others set the model themselves: once is enough
	}
	t.Run("pool", func(t *testing.T) { checkLeavesNothing(t, Config{Engine: HTTP1, Model: serve.Pool}, manyRequests()) })
	for model, n := range map[serve.Way]int64{serve.Prefork: manyRequests(), serve.Process: manyRequests() / 50} {
		t.Run(model.String(), func(t *testing.T) { checkLeavesNothing(t, processConfig(model, []string{echoFlag}, false), n) })
	}
}

// checkLeavesNothing makes n requests and looks for what is left.
func checkLeavesNothing(t *testing.T, c Config, n int64) {
	before := descriptors()
	s := start(t, c, echoContent)
	children := newChildReports(t, s)
	makeManyRequests(t, s.addr, n)
	wait(t, "no connection is left", func() bool { return s.Connections() == 0 })
	children.waitUntilAsBefore(t)
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	wait(t, fmt.Sprintf("no more than %d descriptors are open", before), func() bool { return descriptors() <= before })
	if left := childProcesses(t); len(left) > 0 {
		t.Errorf("got the child processes %v behind the stop, want none", left)
	}
}

// makeManyRequests makes n requests by several clients at a time.
func makeManyRequests(t *testing.T, addr string, n int64) {
	var left atomic.Int64
	left.Store(n)
	var clients sync.WaitGroup
	for seed := range uint64(16) {
		clients.Go(func() {
			m := &manyClient{t: t, addr: addr, random: rand.New(rand.NewPCG(seed, 1))}
			for left.Add(-1) >= 0 && !t.Failed() {
				m.act()
			}
			m.hangUp()
		})
	}
	clients.Wait()
}

// descriptors returns the number of open descriptors, or 0 if the system does not tell.
func descriptors() int {
	if runtime.GOOS != "linux" {
		return 0
	}
	all, _ := os.ReadDir("/proc/self/fd")
	return len(all)
}

// manyClient is a client that does one of many things at a time.
type manyClient struct {
	t      *testing.T
	addr   string
	random *rand.Rand
	conn   net.Conn // nil: none is open
	in     *bufio.Reader
	number int
}

// act sends one request or several, or breaks off.
func (m *manyClient) act() {
	if m.conn == nil {
		c, err := net.Dial("tcp", m.addr)
		if err != nil {
			m.t.Error(err)
			return
		}
		_ = c.SetDeadline(time.Now().Add(waitTimeout))
		m.conn, m.in = c, bufio.NewReader(c)
	}
	switch m.random.IntN(12) {
	case 0: // breaks off within a request
		text, _ := m.request(false)
		_, _ = io.WriteString(m.conn, text[:m.random.IntN(len(text))])
		m.hangUp()
	case 1: // breaks off before the response
		text, _ := m.request(false)
		_, _ = io.WriteString(m.conn, text)
		m.hangUp()
	case 2:
		m.ask(1, true)
		m.hangUp()
	case 3:
		m.ask(1+m.random.IntN(5), false)
	default:
		m.ask(1, false)
	}
}

func (m *manyClient) hangUp() {
	if m.conn != nil {
		m.conn.Close()
		m.conn = nil
	}
}

// ask sends n requests at once and reads the responses.
func (m *manyClient) ask(n int, last bool) {
	var all strings.Builder
	var wants []string
	for range n {
		text, want := m.request(last)
		all.WriteString(text)
		wants = append(wants, want)
	}
	if _, err := io.WriteString(m.conn, all.String()); err != nil {
		m.t.Errorf("a request: %v", err)
	}
	for _, want := range wants {
		resp, err := http.ReadResponse(m.in, nil)
		if err != nil {
			m.t.Errorf("a response: %v", err)
			return
		}
		if got, err := io.ReadAll(resp.Body); err != nil || string(got) != want {
			m.t.Errorf("got %.60q, %v, want %.60q", got, err, want)
			return
		}
	}
	_ = m.conn.SetDeadline(time.Now().Add(waitTimeout))
}

// request returns a request, and the response that it wants.
func (m *manyClient) request(last bool) (text, want string) {
	m.number++
	path := fmt.Sprintf("/%p/%d", m, m.number)
	head := " " + path + " HTTP/1.1\r\nHost: a\r\n"
	if last {
		head += "Connection: close\r\n"
	}
	content := strings.Repeat(strconv.Itoa(m.number)+" ", m.random.IntN(1+m.random.IntN(3000)))
	want = fmt.Sprintf("%s %d %s", path, len(content), content)
	switch m.random.IntN(3) {
	case 0:
		return "POST" + head + "Content-Length: " + strconv.Itoa(len(content)) + "\r\n\r\n" + content, want
	case 1:
		first := m.random.IntN(len(content) + 1)
		text = "POST" + head + "Transfer-Encoding: chunked\r\n\r\n"
		for _, piece := range []string{content[:first], content[first:]} {
			if piece != "" {
				text += fmt.Sprintf("%x\r\n%s\r\n", len(piece), piece)
			}
		}
		return text + "0\r\n\r\n", want
	}
	return "GET" + head + "\r\n", path + " 0 "
}
