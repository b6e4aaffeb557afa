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
//   - "restart": a changed setting of a "server" block takes effect only when the program is
//     restarted.
//   - "panic": a component panicked.
//   - "trouble": an exchange or a component failed, and the site runs on. For example, an upstream
//     of a proxy did not answer, or a log file could not be written.
type Event struct {
	Type string
	Err  error  // of "refused": why the file is invalid
	Text string // one line of details; for "panic" followed by the stack
}

// Live serves the site that a file describes, and reloads the file when it changes. Each of its
// servers has a composition of components, which a [web.Handler] runs. Connections stay open across
// a reload. An exchange, or a WebSocket, completes under the site under which it started. Live is
// an [http.Handler], that of the first server; Serve has those of all. Its methods are safe for
// concurrent use.
type Live struct {
	file        string
	way         flow.Way // overrides the file's, unless empty
	environment environment
	report      func(Event)
	troubles    *lograte.Limiter // limits events "trouble", since each exchange may cause one
	panics      *lograte.Limiter // limits events "panic", since each exchange may cause one
	current     atomic.Pointer[generation]
	mu          sync.Mutex // held during a reload; guards files
	// The files of the last reading, valid or not: the site file and those that it includes, each
	// with its fileStamp before it was read.
	files []stampedFile
}

// stampedFile is a file with what identified its version.
type stampedFile struct{ name, stamp string }

// generation is the site of one reading of the file. It is closed when it is retired and no
// exchange uses it.
type generation struct {
	handlers  []*web.Handler // run the compositions of the site's services, in their order
	site      *Site
	exchanges atomic.Int64 // exchanges in progress; during retire one more
	retired   atomic.Bool  // a newer generation has replaced it, or Live was closed
	close     func()       // closes handlers and site; idempotent
}

// NewLive reads the file and runs its composition with the concurrency model way; empty means the
// file's own. report is called for each event, by several goroutines at once; it may be nil. The
// variables of the file have the given values, of which there is one at most. The caller must call
// Close.
func NewLive(file string, way flow.Way, report func(Event), given ...Values) (*Live, error) {
	if report == nil {
		report = func(Event) {}
	}
	l := &Live{file: file, way: way, environment: newEnvironment(nil, false), report: report}
	l.environment.give(given)
	l.environment.read = l.readStamped
	l.troubles = lograte.New(repeatAfter, func(format string, args ...any) { report(Event{Type: "trouble", Text: fmt.Sprintf(format, args...)}) })
	l.panics = lograte.New(repeatAfter, func(format string, args ...any) { report(Event{Type: "panic", Text: fmt.Sprintf(format, args...)}) })
	l.environment.reportTrouble = func(kind, line string) { l.troubles.Say(kind, readable(l.environment.secrets.hide(line))) }
	g, err := l.newGenerationLocked()
	if err != nil {
		return nil, err
	}
	l.current.Store(g)
	for _, s := range g.site.Services {
		l.environment.running = append(l.environment.running, s.Name)
		l.environment.runningModels = append(l.environment.runningModels, s.Model)
	}
	return l, nil
}

// readStamped reads a file and notes its version. Only newGenerationLocked calls it.
func (l *Live) readStamped(name string) ([]byte, error) {
	l.files = append(l.files, stampedFile{name, fileStamp(name)})
	return readFile(name)
}

// newGenerationLocked reads the file and starts its composition. The caller holds mu, or is the
// only one to have l.
func (l *Live) newGenerationLocked() (*generation, error) {
	l.files = nil
	text, err := l.readStamped(l.file)
	if err != nil {
		return nil, err
	}
	s, err := parse(l.file, text, l.environment)
	if err != nil {
		return nil, err
	}
	g := &generation{site: s}
	g.close = sync.OnceFunc(func() {
		for _, h := range g.handlers {
			_ = h.Close()
		}
		_ = s.Close()
	})
	for _, service := range s.Services {
		h, err := l.run(service)
		if err != nil {
			g.close()
			return nil, err
		}
		g.handlers = append(g.handlers, h)
	}
	return g, nil
}

// run starts the composition of a server.
func (l *Live) run(s *Service) (*web.Handler, error) {
	way := l.way
	if way == "" {
		way = s.Way()
	}
	return web.New(s.Pipe, web.Options{Way: way,
		OnPanic:   func(stage string, value any, stack []byte) { l.onPanic(s.Name, stage, value, stack) },
		OnFailure: func(f web.Failure) { l.onFailure(s.Name, f) }})
}

// Servers returns the settings of the file's servers. Their number, order and names stay the same.
func (l *Live) Servers() []Server {
	var all []Server
	for _, s := range l.current.Load().site.Services {
		all = append(all, s.Server)
	}
	return all
}

// Metrics returns the counts of all "metrics" components of the site, across reloads.
func (l *Live) Metrics() *metrics.Metrics { return l.environment.counts }

// Handler returns the handler that runs the current composition of the first server.
func (l *Live) Handler() *web.Handler { return l.current.Load().handlers[0] }

// ReusesExchanges reports whether the engine may use requests again, as [web.Handler] does.
func (l *Live) ReusesExchanges() bool { return true }

// InProcess names what the current composition of the first server keeps in this process, as
// [web.Handler] does.
func (l *Live) InProcess() []string { return l.Handler().InProcess() }

// ServeHTTP implements [http.Handler] for the first server.
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) { l.serve(0, w, r) }

func (l *Live) serve(server int, w http.ResponseWriter, r *http.Request) {
	g := l.acquire()
	defer g.release()
	g.handlers[server].ServeHTTP(w, r)
}

// Serve returns the handler of a server, an index of Servers.
func (l *Live) Serve(server int) http.Handler {
	if server == 0 {
		return l
	}
	return further{l, server}
}

// further is the handler of a server that is not the first.
type further struct {
	*Live
	server int
}

// ServeHTTP implements [http.Handler].
func (f further) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.serve(f.server, w, r) }

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
	g, err := l.newGenerationLocked()
	if err != nil {
		l.report(Event{Type: "refused", Err: err})
		return err
	}
	old := l.current.Swap(g)
	l.report(Event{Type: "reloaded", Text: l.file})
	if err := l.environment.states.reopen(); err != nil {
		l.report(Event{Type: "trouble", Text: l.environment.secrets.hide(err.Error())})
	}
	for i, s := range g.site.Services {
		if !old.site.Services[i].equalExceptRun(s.Server) {
			l.report(Event{Type: "restart", Text: prefix(s.Name) + "the \"server\" block has changed: restart to apply it"})
		}
	}
	old.retire()
	return nil
}

// watchInterval is how often Watch looks at the file.
const watchInterval = time.Second / 2

// Watch reloads the site within a second after its file, or one that it includes, changes, and on
// each signal from reload. It returns when the context ends.
func (l *Live) Watch(ctx context.Context, reload <-chan os.Signal) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	missing := false // an included file was missing at the last look
	for {
		select {
		case <-ctx.Done():
			return
		case <-reload:
			_ = l.Reload()
		case <-ticker.C:
			l.troubles.Flush(false)
			l.panics.Flush(false)
			changed, gone := l.changed()
			if changed || gone && missing {
				_ = l.Reload()
			}
			missing = gone
		}
	}
}

// changed reports whether a file of the last reading has another version. gone reports whether an
// included file is missing, which happens for a moment while an editor replaces it, as it does to
// the site file.
func (l *Live) changed() (changed, gone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, f := range l.files {
		switch now := fileStamp(f.name); {
		case now == f.stamp:
		case now != "":
			changed = true
		case i > 0:
			gone = true
		}
	}
	return changed, gone
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

func (l *Live) onPanic(server, stage string, value any, stack []byte) {
	what := fmt.Sprintf("%scomponent %s panicked: %v", prefix(server), stage, value)
	l.panics.Say(what[:min(len(what), maxPanicKind)], l.environment.secrets.hide(fmt.Sprintf("%s\n%s", what, bytes.TrimSpace(stack))))
}
