package server

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"weir/serve"
)

// slowAttack is an attack of slowhttptest with its options, besides those of all.
type slowAttack struct {
	name    string
	options []string
}

// slowAttacks are the attacks. With the environment variable WEIR_SLOW_CLIENTS, all are made with
// so many clients; otherwise only the first one, with a few.
func slowAttacks() (attacks []slowAttack, clients int) {
	all := []slowAttack{
		{"slow heads", []string{"-H", "-i", "1"}},
		{"slow content", []string{"-B", "-i", "1", "-s", "8192"}},
		{"slow reads", []string{"-X", "-w", "10", "-y", "20", "-n", "1", "-z", "8", "-k", "3"}},
		{"many ranges", []string{"-R", "-a", "10", "-b", "3000"}},
	}
	if n, err := strconv.Atoi(os.Getenv("WEIR_SLOW_CLIENTS")); err == nil {
		return all, n
	}
	return all[:1], 30
}

// slowConfig gives clients a second where the default gives them many.
func slowConfig(c Config) Config {
	c.HeaderTimeout, c.IdleTimeout, c.SlowTransferGrace = time.Second, time.Second, time.Second
	return c
}

// largePage is what the slow reader asks for.
var largePage = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err == nil {
		_, _ = w.Write(make([]byte, 4<<20))
	}
})

// TestSlowClientsShutNoOtherClientOut: the service stays available to another client, and the slow
// ones are closed, by every model.
func TestSlowClientsShutNoOtherClientOut(t *testing.T) {
	tool, err := exec.LookPath("slowhttptest")
	if err != nil {
		t.Skip("slowhttptest is not installed: run scripts/setup test")
	}
	attacks, clients := slowAttacks()
	configs := map[string]Config{"": {}}
	if underTest == HTTP1 && modelUnderTest == serve.Goroutine {
		configs["pool"] = Config{Engine: HTTP1, Model: serve.Pool}
		configs["prefork"] = processConfig(serve.Prefork, []string{slowFlag}, false)
		process := processConfig(serve.Process, []string{slowFlag}, false)
		process.Workers = poolSize
		configs["process"] = process
	}
	for model, c := range configs {
		for _, a := range attacks {
			t.Run(model+"/"+a.name, func(t *testing.T) {
				s := start(t, slowConfig(c), largePage)
				n := clients
				if c.Model == serve.Process {
					n = min(n, poolSize-50) // it serves others as long as there are places
				}
				attackSlowly(t, tool, a, n, s)
			})
		}
	}
}

// poolSize is the number of connections that the model pool serves at once, and in this test the
// model process.
const poolSize = 256

// attackSlowly makes an attack and sends requests meanwhile, until the slow clients are closed.
func attackSlowly(t *testing.T, tool string, a slowAttack, clients int, s *running) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	n := strconv.Itoa(clients)
	c := exec.CommandContext(ctx, tool, append(a.options, "-c", n, "-r", n, "-l", "50", "-p", "5", "-u", "http://"+s.addr+"/")...)
	ended := make(chan []byte, 1) // from the tool, its output
	go func() {
		out, _ := c.CombinedOutput()
		ended <- out
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	most := 0
	for began := time.Now(); ; {
		if err := getInThree(client, "http://"+s.addr+"/"); err != nil {
			t.Errorf("three requests during the attack failed, the last one with %v, want a response", err)
		}
		open := s.Connections()
		most = max(most, open)
		// the tool does not notice that slow readers are closed, and children are not counted here
		switch {
		case s.config.ChildCommand != nil && a.name != "slow heads" && time.Since(began) > 10*time.Second:
			cancel()
		case most > min(clients, poolSize)/2 && open < clients/20+2:
			cancel()
		}
		select {
		case out := <-ended:
			if unavailable.Match(out) || ctx.Err() == nil && !noneIsLeft.Match(out) {
				t.Errorf("got %d slow connections of at most %d that were open, or an unavailable service, want all closed after a second:\n%s", open, most, out[max(0, len(out)-3000):])
			}
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// getInThree requests a page up to three times, each time by a new connection: on a stalled machine
// an honest client, too, may need more than the second that this test allows.
func getInThree(client *http.Client, url string) (err error) {
	for range 3 {
		var resp *http.Response
		if resp, err = client.Get(url); err == nil {
			return resp.Body.Close()
		}
	}
	return err
}

// The results in the output of slowhttptest, which has colours.
var (
	unavailable = regexp.MustCompile(`service available:[^\n]*NO`)
	noneIsLeft  = regexp.MustCompile(`No open connections left`)
)
