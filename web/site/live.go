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

// Event is something that happened to a [Live] site.
type Event struct {
	Type string // "reloaded", "refused", "panic", "restart" or "trouble"
	Err  error  // of "refused", when a reload failed and the old site stays in effect
	Text string // one line of details; for "panic" followed by the stack
}

// Live serves what a site file describes, and reloads the file when it changes. Connections stay
// open. An exchange, or a WebSocket, completes under the site under which it started. Live is an
// [http.Handler]; its methods are safe for concurrent use.
type Live struct {
	file         string
	initialStamp string   // fileStamp before the first reading, for Watch
	way          flow.Way // overrides the file's, unless empty
	environment  environment
	report       func(Event)
	faults       *lograte.Limiter // limits events "trouble", since each exchange may cause one
	panics       *lograte.Limiter // limits events "panic", since each exchange may cause one
	current      atomic.Pointer[generation]
	mu           sync.Mutex // held during a reload
}

// generation is the site of one reading of the file.
type generation struct {
	*web.Handler
	site      *Site
	exchanges atomic.Int64 // exchanges in progress
	retired   atomic.Bool
	close     func() // idempotent
}

// NewLive reads the file and runs its composition with the concurrency model way; empty means the
// file's own. report is called for each event, by several goroutines at once; it may be nil. The
// caller must call Close.
func NewLive(file string, way flow.Way, report func(Event)) (*Live, error) {
	if report == nil {
		report = func(Event) {}
	}
	l := &Live{file: file, initialStamp: fileStamp(file), way: way, environment: newEnvironment(nil, false), report: report}
	l.faults = lograte.New(repeatAfter, func(format string, args ...any) { report(Event{Type: "trouble", Text: fmt.Sprintf(format, args...)}) })
	l.panics = lograte.New(repeatAfter, func(format string, args ...any) { report(Event{Type: "panic", Text: fmt.Sprintf(format, args...)}) })
	l.environment.reportFault = func(kind, line string) { l.faults.Say(kind, printable(line)) }
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

// Server returns the block server of the file.
func (l *Live) Server() Server { return l.current.Load().site.Server }

// Metrics returns the counts of all components metrics of the site, across reloads.
func (l *Live) Metrics() *metrics.Metrics { return l.environment.counts }

// Handler returns the composition that runs now.
func (l *Live) Handler() *web.Handler { return l.current.Load().Handler }

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
		l.report(Event{Type: "restart", Text: "the block server has changed: restart to apply it"})
	}
	old.retire()
	return nil
}

// Watch reloads the site within a second after its file changes, and on each signal from reload. It
// returns when the context ends.
func (l *Live) Watch(ctx context.Context, reload <-chan os.Signal) {
	ticker := time.NewTicker(time.Second / 2)
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
			l.faults.Flush(false)
			l.panics.Flush(false)
			if now := fileStamp(l.file); now != seen && now != "" {
				seen = now
				_ = l.Reload()
			}
		}
	}
}

// fileStamp changes when the file does. It is empty if there is no file, as while an editor
// replaces it.
func fileStamp(file string) string {
	i, err := os.Stat(file)
	if err != nil {
		return ""
	}
	return i.ModTime().String() + "/" + time.Duration(i.Size()).String()
}

// Close ends the site. Exchanges in progress complete, later ones are answered by 503.
func (l *Live) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current.Load().retire()
	l.faults.Flush(true)
	l.panics.Flush(true)
}

func (l *Live) onPanic(stage string, value any, stack []byte) {
	what := fmt.Sprintf("component %s panicked: %v", stage, value)
	l.panics.Say(what[:min(len(what), 60)], fmt.Sprintf("%s\n%s", what, bytes.TrimSpace(stack)))
}
