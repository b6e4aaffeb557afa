//go:build webdebug

package ownership

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/flow"
	"weir/web"
)

// asked is what a client gets of a composition, and why its exchange failed.
func asked(t *testing.T, way flow.Way, parts ...web.Component) (status int, why error) {
	t.Helper()
	errs := make(chan error, 1) // from After -> here
	tell := web.Pipe(func(c *web.Conn) { c.After(func(c *web.Conn) { errs <- c.Err() }) })
	h, err := web.New(web.Chain(append([]web.Component{tell}, parts...)...), web.Options{Way: way})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	return w.Code, <-errs
}

// touch says what comes of touching a Conn.
func touch(c *web.Conn) (complaint string) {
	defer func() { complaint = fmt.Sprint(recover()) }()
	c.SetStatus(http.StatusTeapot)
	return
}

var ways = []flow.Way{flow.Chain, flow.Network}

// A component that keeps its Conn, and touches it while another has it, costs the exchange; the
// error names who had passed it on.
func TestADebugBuildCatchesWhoKeepsAConn(t *testing.T) {
	for _, way := range ways {
		t.Run(string(way), func(t *testing.T) {
			var kept *web.Conn
			keeper := web.Named("keeper", web.Pipe(func(c *web.Conn) { kept = c }))
			next := web.Named("next", web.Source(func(c *web.Conn) web.Body {
				kept.SetHeader("X-From", "keeper")
				return web.String("hello")
			}))
			status, why := asked(t, way, keeper, next)
			p, ok := errors.AsType[*flow.PanicError](why)
			if status != 500 || !ok || !strings.Contains(fmt.Sprint(p.Value), "keeper, which has passed it on") {
				t.Errorf("%d %v, want a complaint about the keeper", status, why)
			}
			if got := touch(kept); !strings.Contains(got, "keeper, which has passed it on") {
				t.Errorf("after the exchange: %s", got)
			}
		})
	}
}

// A transform and a stream are run when the set-up is over.
func TestADebugBuildCatchesWhoUsesAConnInABody(t *testing.T) {
	for _, way := range ways {
		t.Run(string(way), func(t *testing.T) {
			var complaints []string
			stream := web.Named("stream", web.Source(func(c *web.Conn) web.Body {
				return web.Stream(-1, func(w io.Writer) error {
					complaints = append(complaints, touch(c))
					_, err := io.WriteString(w, "hello")
					return err
				})
			}))
			filter := web.Named("filter", web.Filter(func(c *web.Conn) web.Transform {
				return func(next io.Writer) io.WriteCloser {
					complaints = append(complaints, touch(c))
					return whole{next}
				}
			}))
			status, why := asked(t, way, stream, filter)
			got := strings.Join(complaints, "\n")
			if status != 200 || why != nil || !strings.Contains(got, "stream, which") || !strings.Contains(got, "filter, which") {
				t.Errorf("%d %v, complaints: %s", status, why, got)
			}
		})
	}
}

type whole struct{ io.Writer }

func (whole) Close() error { return nil }

// Who keeps to the rule is left alone.
func TestADebugBuildLeavesOthersAlone(t *testing.T) {
	for _, way := range ways {
		t.Run(string(way), func(t *testing.T) {
			source := web.Source(func(c *web.Conn) web.Body {
				path := c.Path()
				c.Before(func(c *web.Conn) { c.SetHeader("X-Path", path) })
				return web.String(path)
			})
			if status, why := asked(t, way, source, web.Pipe(func(c *web.Conn) { c.SetStatus(c.Status()) })); status != 200 || why != nil {
				t.Errorf("%d %v", status, why)
			}
		})
	}
}
