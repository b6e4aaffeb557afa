package web_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"weir/flow"
	"weir/web"
)

// upper is a filter that changes to upper case.
func upper(*web.Conn) web.Transform {
	return func(next io.Writer) io.WriteCloser { return upperWriter{next} }
}

type upperWriter struct{ next io.Writer }

func (u upperWriter) Write(p []byte) (int, error) {
	_, err := io.WriteString(u.next, strings.ToUpper(string(p)))
	return len(p), err
}
func (u upperWriter) Close() error { return nil }

func TestTapSeesTheBodyAsWritten(t *testing.T) {
	stream := web.Source(func(c *web.Conn) web.Body {
		return web.Stream(4, func(w io.Writer) error { _, err := io.WriteString(w, "body"); return err })
	})
	broken := web.Source(func(c *web.Conn) web.Body {
		return web.Stream(-1, func(w io.Writer) error { _, _ = io.WriteString(w, "bo"); return errors.New("no more") })
	})
	for _, c := range []struct {
		what   string
		before []web.Component
		method string
		want   string
		length int64
	}{
		{"a stream", []web.Component{stream}, "GET", "[body true]", 4},
		{"a stream that is not wanted", []web.Component{stream}, "HEAD", "[]", 4},
		{"behind a filter", []web.Component{text("body"), web.Filter(upper)}, "GET", "[BODY true]", -1},
		{"a stream that breaks off", []web.Component{broken}, "GET", "[bo false]", -2},
		{"the same behind a filter", []web.Component{broken, web.Filter(upper)}, "GET", "[BO false]", -2},
		{"bytes", []web.Component{text("body")}, "GET", "[not tapped]", 4},
	} {
		var seen []string
		tap := web.Pipe(func(c *web.Conn) {
			if !c.Tap(func(p []byte) { seen = append(seen, string(p)) }, func(whole bool) { seen = append(seen, fmt.Sprint(whole)) }) {
				seen = append(seen, "not tapped")
			}
		})
		h, err := web.New(web.Chain(append(slices.Clone(c.before), tap)...), web.Options{Way: flow.Chain})
		if err != nil {
			t.Fatal(err)
		}
		w := &nowhere{header: http.Header{}}
		r, _ := http.NewRequest(c.method, "/", nil)
		func() {
			defer func() { _ = recover() }() // as net/http does
			h.ServeHTTP(w, r)
		}()
		h.Close()
		if fmt.Sprint(seen) != c.want {
			t.Errorf("%s: got %v, want %s", c.what, seen, c.want)
		}
		if n := w.header.Get("Content-Length"); c.length >= 0 && n != fmt.Sprint(c.length) || c.length == -1 && n != "" {
			t.Errorf("%s: length %q, want %d", c.what, n, c.length)
		}
	}
}

func TestFieldsYieldsEveryResponseField(t *testing.T) {
	var names []string
	h, err := web.New(web.Pipe(func(c *web.Conn) {
		c.SetHeader("b", "1")
		c.AddHeader("a", "2")
		for name, values := range c.Fields() {
			names = append(names, name+strings.Join(values, ","))
		}
		slices.Sort(names)
		c.Reply(204)
	}), web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	r, _ := http.NewRequest("GET", "/", nil)
	h.ServeHTTP(&nowhere{header: http.Header{}}, r)
	if fmt.Sprint(names) != "[A2 B1]" {
		t.Errorf("Fields: got %v, want A2 and B1", names)
	}
}
