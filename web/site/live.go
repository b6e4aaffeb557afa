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
	What string // "reloaded", "refused", "panic", "restart", "trouble"
	Err  error  // of "refused": the old site goes on
	Text string // one line more; of "panic", with the stack below
}

// Live serves what a site file says, and changes to what it says when it changes. Connections stay:
// an exchange ends under the site under which it began, a WebSocket too. It is an [http.Handler];
// methods may be called from any goroutine.
type Live struct {
	file    string
	read    string   // the file's stamp before it was first read, for Watch
	way     flow.Way // in place of the file's, if not empty
	in      surroundings
	report  func(Event)
	faults  *lograte.Limiter // of "trouble", which may come with each exchange
	panics  *lograte.Limiter // of "panic", in the same way
	current atomic.Pointer[generation]
	mu      sync.Mutex // one change at a time
}

// generation is a site as it was read once.
type generation struct {
	*web.Handler
	site    *Site
	users   atomic.Int64 // exchanges under way
	retired atomic.Bool
	close   func() // once
}

// NewLive reads the file and runs its composition by a way, or by the file's own when it is empty.
// Report is told what happens, by several goroutines at once; nil means that nobody asks. Who calls
// NewLive calls Close.
func NewLive(file string, way flow.Way, report func(Event)) (*Live, error) {
	if report == nil {
		report = func(Event) {}
	}
	l := &Live{file: file, read: stamp(file), way: way, in: alone(nil, false), report: report}
	l.faults = lograte.New(repeatAfter, func(format string, args ...any) { report(Event{What: "trouble", Text: fmt.Sprintf(format, args...)}) })
	l.panics = lograte.New(repeatAfter, func(format string, args ...any) { report(Event{What: "panic", Text: fmt.Sprintf(format, args...)}) })
	l.in.tell = func(kind, line string) { l.faults.Say(kind, printable(line)) }
	g, err := l.generate()
	if err != nil {
		return nil, err
	}
	l.current.Store(g)
	return l, nil
}

// generate reads the file and runs what it says.
func (l *Live) generate() (*generation, error) {
	text, err := read(l.file)
	if err != nil {
		return nil, err
	}
	s, err := parse(l.file, text, l.in)
	if err != nil {
		return nil, err
	}
	way := l.way
	if way == "" {
		way = s.Server.Way()
	}
	h, err := web.New(s.Pipe, web.Options{Way: way, Panicked: l.panicked, Failed: l.failed})
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

// Server is what the file says of the server.
func (l *Live) Server() Server { return l.current.Load().site.Server }

// Metrics are what the components metrics of the site count in, whichever file they stood in.
func (l *Live) Metrics() *metrics.Metrics { return l.in.counts }

// Handler is the composition that runs now.
func (l *Live) Handler() *web.Handler { return l.current.Load().Handler }

// ServeHTTP implements [http.Handler].
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g := l.enter()
	defer g.leave()
	g.Handler.ServeHTTP(w, r)
}

// enter takes the current generation, so that it is not closed until it is left.
func (l *Live) enter() *generation {
	for {
		g := l.current.Load()
		g.users.Add(1)
		if l.current.Load() == g {
			return g
		}
		g.leave() // it was retired in between
	}
}

func (g *generation) leave() {
	if g.users.Add(-1) == 0 && g.retired.Load() {
		g.close()
	}
}

// retire has a generation closed when the last has left it.
func (g *generation) retire() {
	g.users.Add(1)
	g.retired.Store(true)
	g.leave()
}

// Reload reads the file again. If it is wrong, what runs goes on, and the error says what is wrong.
func (l *Live) Reload() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	g, err := l.generate()
	if err != nil {
		l.report(Event{What: "refused", Err: err})
		return err
	}
	old := l.current.Swap(g)
	l.report(Event{What: "reloaded", Text: l.file})
	if err := l.in.keeper.reopen(); err != nil {
		l.report(Event{What: "trouble", Text: err.Error()})
	}
	if !old.site.Server.same(g.site.Server) {
		l.report(Event{What: "restart", Text: "what the block server says has changed, and holds from the next start on"})
	}
	old.retire()
	return nil
}

// Watch reloads the site when its file changes, which it sees within a second, and when asked by
// reload. It returns when the context ends.
func (l *Live) Watch(ctx context.Context, reload <-chan os.Signal) {
	ticker := time.NewTicker(time.Second / 2)
	defer ticker.Stop()
	seen := l.read
	for {
		select {
		case <-ctx.Done():
			return
		case <-reload:
			seen = stamp(l.file)
			_ = l.Reload()
		case <-ticker.C:
			l.faults.Flush(false)
			l.panics.Flush(false)
			if now := stamp(l.file); now != seen && now != "" {
				seen = now
				_ = l.Reload()
			}
		}
	}
}

// stamp changes when the file does; it is empty while there is none, as when an editor puts another
// in its place.
func stamp(file string) string {
	i, err := os.Stat(file)
	if err != nil {
		return ""
	}
	return i.ModTime().String() + "/" + time.Duration(i.Size()).String()
}

// Close ends the site. Exchanges under way come to their end, and later ones are answered by 503.
func (l *Live) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current.Load().retire()
	l.faults.Flush(true)
	l.panics.Flush(true)
}

func (l *Live) panicked(stage string, value any, stack []byte) {
	what := fmt.Sprintf("component %s panicked: %v", stage, value)
	l.panics.Say(what[:min(len(what), 60)], fmt.Sprintf("%s\n%s", what, bytes.TrimSpace(stack)))
}
