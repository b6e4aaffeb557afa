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

// lived is a live site with what it reported.
type lived struct {
	*Live
	file   string
	events chan Event // from the site -> to the test; capacity beyond what a test makes it say
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

// write puts another file in the place of the old one.
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

func TestReload(t *testing.T) {
	l := live(t, "", `text { text = "old" }`)
	if got := l.get(t); got != "old" {
		t.Errorf("%q", got)
	}
	l.write(t, `text { text = "new" }`)
	if err := l.Reload(); err != nil || l.get(t) != "new" {
		t.Errorf("%v, %q", err, l.get(t))
	}
	l.write(t, `text { txt = "bad" }`)
	if err := l.Reload(); err == nil || !strings.Contains(err.Error(), "site.hcl:1,") || l.get(t) != "new" {
		t.Errorf("a bad file: %v, %q", err, l.get(t))
	}
	for _, want := range []string{"reloaded", "refused"} {
		if e := <-l.events; e.What != want {
			t.Errorf("%+v, want %s", e, want)
		}
	}
}

func TestAServerThatChangesIsToldToRestart(t *testing.T) {
	l := live(t, "", `text { text = "x" }`)
	l.write(t, "server { run = \"network\" }\ntext { text = \"y\" }")
	if err := l.Reload(); err != nil || l.Handler().Topology().Way != flow.Network {
		t.Errorf("%v, runs as %s", err, l.Handler().Topology().Way)
	}
	l.write(t, "server { listen = \":1\" }\ntext { text = \"y\" }")
	if err := l.Reload(); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"reloaded", "reloaded", "restart"} {
		if e := <-l.events; e.What != want {
			t.Errorf("%+v, want %s", e, want)
		}
	}
}

// What began under the old file goes on under it, and its components are closed only then.
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
		t.Errorf("%v, %q", err, l.get(t))
	}
	select {
	case <-closed:
		t.Error("a component was closed under an exchange")
	default:
	}
	close(goOn)
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "begun, ended" {
		t.Errorf("%q, %v", body, err)
	}
	<-closed
}

type closer func()

func (c closer) Close() error { c(); return nil }

func TestWatch(t *testing.T) {
	l := live(t, "", `text { text = "old" }`)
	ctx, stop := context.WithCancel(t.Context())
	reload := make(chan os.Signal, 1)
	var watching sync.WaitGroup
	watching.Go(func() { l.Watch(ctx, reload) })
	reload <- syscall.SIGHUP
	if e := <-l.events; e.What != "reloaded" {
		t.Errorf("asked: %+v", e)
	}
	l.write(t, `text { text = "a longer one" }`)
	if e := <-l.events; e.What != "reloaded" || l.get(t) != "a longer one" {
		t.Errorf("changed: %+v", e)
	}
	stop()
	watching.Wait()
}

// Under load, reloads lose no request.
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
							t.Errorf("%d %q", w.Code, w.Body.String())
							return
						}
					}
				})
			}
			for range 20 {
				if err := l.Reload(); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Millisecond) // so that requests fall between
			}
			close(stop)
			clients.Wait()
		})
	}
}

// A change between the reading of the file and the beginning of Watch is seen.
func TestAChangeBeforeWatch(t *testing.T) {
	l := live(t, "", `text { text = "old" }`)
	l.write(t, `text { text = "a longer one" }`)
	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { l.Watch(ctx, nil) })
	select {
	case e := <-l.events:
		if e.What != "reloaded" || l.get(t) != "a longer one" {
			t.Errorf("%+v", e)
		}
	case <-time.After(30 * time.Second):
		t.Error("it was not seen")
	}
	stop()
	watching.Wait()
}
