package site

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"weir/flow"
	"weir/web"
)

// lived is a live site with its reported events.
type lived struct {
	*Live
	file   string
	events chan Event // the capacity exceeds the events of any test
	url    string
}

func live(t *testing.T, way flow.Way, text string) *lived {
	t.Helper()
	l := &lived{file: filepath.Join(t.TempDir(), "site.hcl"), events: make(chan Event, 100)}
	l.write(t, text)
	var err error
	if l.Live, err = NewLive(l.file, way, func(e Event) { l.events <- e }); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(l)
	t.Cleanup(l.Close)
	t.Cleanup(s.Close)
	l.url = s.URL
	return l
}

// write replaces the file.
func (l *lived) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(l.file+".new", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(l.file+".new", l.file); err != nil {
		t.Fatal(err)
	}
}

func (l *lived) get(t *testing.T) string {
	t.Helper()
	resp, err := http.Get(l.url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestReloadReplacesTheSite(t *testing.T) {
	l := live(t, "", `text { text = "old" }`)
	if got := l.get(t); got != "old" {
		t.Errorf("before a reload: got %q, want %q", got, "old")
	}
	l.write(t, `text { text = "new" }`)
	if err := l.Reload(); err != nil || l.get(t) != "new" {
		t.Errorf("after a reload: got %v and %q, want nil and %q", err, l.get(t), "new")
	}
	l.write(t, `text { txt = "bad" }`)
	if err := l.Reload(); err == nil || !strings.Contains(err.Error(), "site.hcl:1,") || l.get(t) != "new" {
		t.Errorf("Reload of an invalid file: got %v and %q, want its place and the running site's %q", err, l.get(t), "new")
	}
	for _, want := range []string{"reloaded", "refused"} {
		if e := <-l.events; e.Type != want {
			t.Errorf("got %+v, want %s", e, want)
		}
	}
}

func TestChangedServerBlockRequiresRestart(t *testing.T) {
	l := live(t, "", `text { text = "x" }`)
	l.write(t, "server { run = \"network\" }\ntext { text = \"y\" }")
	if err := l.Reload(); err != nil || l.Handler().Topology().Way != flow.Network {
		t.Errorf("Reload: got %v and the model %s, want nil and network", err, l.Handler().Topology().Way)
	}
	l.write(t, "server { listen = \":1\" }\ntext { text = \"y\" }")
	if err := l.Reload(); err != nil {
		t.Errorf("Reload with another address to listen on: got %v, want nil", err)
	}
	for _, want := range []string{"reloaded", "reloaded", "restart"} {
		if e := <-l.events; e.Type != want {
			t.Errorf("got %+v, want %s", e, want)
		}
	}
}

// An exchange that started before a reload completes under the old file. Its components are closed
// only then.
func TestAnExchangeOutlivesAReload(t *testing.T) {
	// both closed: by the test, and by the component's Close
	goOn, closed := make(chan struct{}), make(chan struct{})
	kinds["test_stream"] = Kind{build: func(b *block) web.Component {
		b.closers = append(b.closers, closer(func() { close(closed) }))
		return web.Source(func(*web.Conn) web.Body {
			return web.Stream(-1, func(w io.Writer) error {
				_, _ = io.WriteString(w, "begun, ")
				if err := web.Flush(w); err != nil {
					return err
				}
				<-goOn
				_, err := io.WriteString(w, "ended")
				return err
			})
		})
	}}
	defer delete(kinds, "test_stream")
	l := live(t, flow.Network, "test_stream {}")
	resp, err := http.Get(l.url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	l.write(t, `text { text = "new" }`)
	if err := l.Reload(); err != nil || l.get(t) != "new" {
		t.Errorf("Reload during an exchange: got %v and %q, want nil and %q", err, l.get(t), "new")
	}
	select {
	case <-closed:
		t.Error("got a component closed during an exchange, want it closed afterwards")
	default:
	}
	close(goOn)
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "begun, ended" {
		t.Errorf("the exchange that outlives the reload: got %q (%v), want it whole", body, err)
	}
	<-closed
}

type closer func()

func (c closer) Close() error { c(); return nil }

func TestWatchReloadsOnSignalsAndChanges(t *testing.T) {
	l := live(t, "", `text { text = "old" }`)
	ctx, stop := context.WithCancel(t.Context())
	reload := make(chan os.Signal, 1)
	var watching sync.WaitGroup
	watching.Go(func() { l.Watch(ctx, reload) })
	reload <- syscall.SIGHUP
	if e := <-l.events; e.Type != "reloaded" {
		t.Errorf("after a signal: got %+v, want reloaded", e)
	}
	l.write(t, `text { text = "a longer one" }`)
	if e := <-l.events; e.Type != "reloaded" || l.get(t) != "a longer one" {
		t.Errorf("after a change of the file: got %+v, want reloaded and the new text", e)
	}
	stop()
	watching.Wait()
}

// Reloads under load lose no request.
func TestReloadsUnderLoad(t *testing.T) {
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		t.Run(string(way), func(t *testing.T) {
			l := live(t, way, `text { text = "x" }`)
			stop := make(chan struct{}) // closed when the reloads are over
			var clients sync.WaitGroup
			for range 4 {
				clients.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						w := httptest.NewRecorder()
						l.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
						if w.Code != 200 || w.Body.String() != "x" {
							t.Errorf("during reloads: got %d %q, want 200 and x", w.Code, w.Body.String())
							return
						}
					}
				})
			}
			for range 20 {
				if err := l.Reload(); err != nil {
					t.Errorf("Reload under load: got %v, want nil", err)
				}
				time.Sleep(time.Millisecond) // so that requests fall between
			}
			close(stop)
			clients.Wait()
		})
	}
}

// Watch sees a change that was made between the first reading of the file and the call of Watch.
func TestWatchSeesAChangeBeforeItStarted(t *testing.T) {
	l := live(t, "", `text { text = "old" }`)
	l.write(t, `text { text = "a longer one" }`)
	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { l.Watch(ctx, nil) })
	select {
	case e := <-l.events:
		if e.Type != "reloaded" || l.get(t) != "a longer one" {
			t.Errorf("got %+v, want reloaded and the new text", e)
		}
	case <-time.After(30 * time.Second):
		t.Error("got no event within 30 s, want a reload for the change before Watch started")
	}
	stop()
	watching.Wait()
}
