package site

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"weir/flow"
	"weir/internal/lograte"
	"weir/web"
	"weir/web/components/metrics"
)

// Event is something that happened to a [Live] site. The types are:
//
//   - "reloaded": a changed file is in effect.
//   - "refused": a changed file is invalid; the site that was running stays in effect.
//   - "restart": a changed setting of the "server" block takes effect only when the program is
//     restarted.
//   - "panic": a component panicked.
//   - "trouble": an exchange or a component failed, and the site runs on. For example, an upstream
//     of a proxy did not answer, or a log file could not be written.
type Event struct {
	Type string
	Err  error  // of "refused": why the file is invalid
	Text string // one line of details; for "panic" followed by the stack
}

// Live serves the site that a file describes, and reloads the file when it changes. The site is the
// file's "server" block with a composition of components. Site.Pipe is the composition as a
// component; a [web.Handler] runs it. Connections stay open across a reload. An exchange, or a
// WebSocket, completes under the site under which it started. Live is an [http.Handler]; its
// methods are safe for concurrent use.
type Live struct {
	file         string
	initialStamp string   // fileStamp before the first reading, for Watch
	way          flow.Way // overrides the file's, unless empty
	environment  environment
	report       func(Event)
	troubles     *lograte.Limiter // limits events "trouble", since each exchange may cause one
	panics       *lograte.Limiter // limits events "panic", since each exchange may cause one
	current      atomic.Pointer[generation]
	mu           sync.Mutex // held during a reload
}

// generation is the site of one reading of the file. It is closed when it is retired and no
// exchange uses it.
type generation struct {
	*web.Handler              // runs the composition of site
	site         *Site        //
	exchanges    atomic.Int64 // exchanges in progress; during retire one more
	retired      atomic.Bool  // a newer generation has replaced it, or Live was closed
	close        func()       // closes handler and site; idempotent
}

// NewLive reads the file and runs its composition with the concurrency model way; empty means the
// file's own. report is called for each event, by several goroutines at once; it may be nil. The
// caller must call Close.
func NewLive(file string, way flow.Way, report func(Event)) (*Live, error) {
	if report == nil {
		report = func(Event) {}
	}
	l := &Live{file: file, initialStamp: fileStamp(file), way: way, environment: newEnvironment(nil, false), report: report}
	l.troubles = lograte.New(repeatAfter, func(format string, args ...any) { report(Event{Type: "trouble", Text: fmt.Sprintf(format, args...)}) })
	l.panics = lograte.New(repeatAfter, func(format string, args ...any) { report(Event{Type: "panic", Text: fmt.Sprintf(format, args...)}) })
	l.environment.reportTrouble = func(kind, line string) { l.troubles.Say(kind, printable(line)) }
	g, err := l.newGeneration()
	if err != nil {
		return nil, err
	}
	l.current.Store(g)
	return l, nil
}

// newGeneration reads the file and starts its composition.
func (l *Live) newGeneration() (*generation, error) {
	text, err := readFile(l.file)
	if err != nil {
		return nil, err
	}
	s, err := parse(l.file, text, l.environment)
	if err != nil {
		return nil, err
	}
	way := l.way
	if way == "" {
		way = s.Server.Way()
	}
	h, err := web.New(s.Pipe, web.Options{Way: way, OnPanic: l.onPanic, OnFailure: l.onFailure})
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	g := &generation{Handler: h, site: s}
	g.close = sync.OnceFunc(func() {
		_ = h.Close()
		_ = s.Close()
	})
	return g, nil
}

// Server returns the file's "server" block.
func (l *Live) Server() Server { return l.current.Load().site.Server }

// Metrics returns the counts of all "metrics" components of the site, across reloads.
func (l *Live) Metrics() *metrics.Metrics { return l.environment.counts }

// Handler returns the handler that runs the current composition.
func (l *Live) Handler() *web.Handler { return l.current.Load().Handler }

// ReusesExchanges reports whether the engine may use requests again, as [web.Handler] does.
func (l *Live) ReusesExchanges() bool { return true }

// ServeHTTP implements [http.Handler].
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g := l.acquire()
	defer g.release()
	g.Handler.ServeHTTP(w, r)
}

// acquire returns the current generation. It stays open until release.
func (l *Live) acquire() *generation {
	for {
		g := l.current.Load()
		g.exchanges.Add(1)
		if l.current.Load() == g {
			return g
		}
		g.release() // it was retired in between
	}
}

func (g *generation) release() {
	if g.exchanges.Add(-1) == 0 && g.retired.Load() {
		g.close()
	}
}

// retire closes a generation as soon as no exchange uses it.
func (g *generation) retire() {
	g.exchanges.Add(1)
	g.retired.Store(true)
	g.release()
}

// Reload reads the file again. If the file is invalid, the running site stays in effect and the
// error says what is wrong.
func (l *Live) Reload() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	g, err := l.newGeneration()
	if err != nil {
		l.report(Event{Type: "refused", Err: err})
		return err
	}
	old := l.current.Swap(g)
	l.report(Event{Type: "reloaded", Text: l.file})
	if err := l.environment.states.reopen(); err != nil {
		l.report(Event{Type: "trouble", Text: err.Error()})
	}
	if !old.site.Server.equalExceptRun(g.site.Server) {
		l.report(Event{Type: "restart", Text: "the \"server\" block has changed: restart to apply it"})
	}
	old.retire()
	return nil
}

// watchInterval is how often Watch looks at the file.
const watchInterval = time.Second / 2

// Watch reloads the site within a second after its file changes, and on each signal from reload. It
// returns when the context ends.
func (l *Live) Watch(ctx context.Context, reload <-chan os.Signal) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	seen := l.initialStamp
	for {
		select {
		case <-ctx.Done():
			return
		case <-reload:
			seen = fileStamp(l.file)
			_ = l.Reload()
		case <-ticker.C:
			l.troubles.Flush(false)
			l.panics.Flush(false)
			if now := fileStamp(l.file); now != seen && now != "" {
				seen = now
				_ = l.Reload()
			}
		}
	}
}

// fileStamp returns a text that changes when the file's time or size changes. It is empty if there
// is no file, which happens for a moment while an editor replaces it.
func fileStamp(file string) string {
	i, err := os.Stat(file)
	if err != nil {
		return ""
	}
	return i.ModTime().String() + "/" + time.Duration(i.Size()).String()
}

// Close ends the site. Exchanges in progress complete, later ones are answered by 503. It reports
// the events that the limiters still hold back.
func (l *Live) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current.Load().retire()
	l.troubles.Flush(true)
	l.panics.Flush(true)
}

// maxPanicKind is how many bytes of a panic's description identify it: panics that agree in them
// are reported once in repeatAfter.
const maxPanicKind = 60

func (l *Live) onPanic(stage string, value any, stack []byte) {
	what := fmt.Sprintf("component %s panicked: %v", stage, value)
	l.panics.Say(what[:min(len(what), maxPanicKind)], fmt.Sprintf("%s\n%s", what, bytes.TrimSpace(stack)))
}
