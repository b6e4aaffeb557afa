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

// asked returns the status of a composition's response, and why its exchange failed.
func asked(t *testing.T, way flow.Way, parts ...web.Component) (status int, why error) {
	t.Helper()
	errs := make(chan error, 1) // from After to asked
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

// touch uses a Conn and returns the panic's message.
func touch(c *web.Conn) (complaint string) {
	defer func() { complaint = fmt.Sprint(recover()) }()
	c.SetStatus(http.StatusTeapot)
	return
}

var ways = []flow.Way{flow.Chain, flow.Network}

// A component that keeps its Conn, and uses it while another component holds it, fails the
// exchange. The error names the component that had passed it on.
func TestDebugBuildDetectsAKeptConn(t *testing.T) {
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
			if status != 500 || !ok || !strings.Contains(fmt.Sprint(p.Value), "after keeper has passed it on") {
				t.Errorf("got %d %v, want 500 and an error that names the component", status, why)
			}
			if got := touch(kept); !strings.Contains(got, "after keeper has passed it on") {
				t.Errorf("after the exchange: got %q, want a panic that names keeper", got)
			}
		})
	}
}

// A transform and a stream run after the setup phase.
func TestDebugBuildDetectsAConnUsedInABody(t *testing.T) {
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
			if status != 200 || why != nil || !strings.Contains(got, "after stream has") || !strings.Contains(got, "after filter has") {
				t.Errorf("got %d %v, complaints %q, want 200, nil, and complaints about stream and filter", status, why, got)
			}
		})
	}
}

type whole struct{ io.Writer }

func (whole) Close() error { return nil }

// Components that follow the rule are not affected.
func TestDebugBuildAcceptsCorrectComponents(t *testing.T) {
	for _, way := range ways {
		t.Run(string(way), func(t *testing.T) {
			source := web.Source(func(c *web.Conn) web.Body {
				path := c.Path()
				c.Before(func(c *web.Conn) { c.SetHeader("X-Path", path) })
				return web.String(path)
			})
			if status, why := asked(t, way, source, web.Pipe(func(c *web.Conn) { c.SetStatus(c.Status()) })); status != 200 || why != nil {
				t.Errorf("got %d %v, want 200 and no error", status, why)
			}
		})
	}
}
