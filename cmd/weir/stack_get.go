package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

type stackGetCmd struct {
	hostFlags

	URL    string `arg:"" name:"url" help:"The URL; http unless it has a scheme."`
	Output string `short:"o" type:"path" placeholder:"FILE" help:"Write to this file instead of standard output; it appears when it is complete."`
}

// Help is the long part of the command's help.
func (c *stackGetCmd) Help() string {
	return `Uses Go's HTTP client over connections of the host. https is verified against this machine's certificates.

Examples:

  weir stack get http://10.0.0.1:8000/
  weir stack get -o page.html https://example.org/`
}

// Run implements the command.
func (c *stackGetCmd) Run(ctx context.Context, t *terminal) error {
	url := c.URL
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return usageError{err}
	}
	h, err := c.find(ctx)
	if err != nil {
		return err
	}
	q.Header.Set("User-Agent", "weir")
	transport := &http.Transport{DialContext: h.DialContext, DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: transport}).Do(q)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	into, done, err := c.into(t)
	if err != nil {
		return err
	}
	p := &progress{t: t, shown: t.errTTY && (c.Output != "" || !t.outTTY), total: resp.ContentLength, began: time.Now()}
	_, err = io.Copy(io.MultiWriter(into, p), resp.Body)
	p.end()
	if err = errors.Join(err, done(err == nil)); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	if resp.StatusCode >= 400 {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return nil
}

// into returns the output, and a function to call at the end, with whether it is complete.
func (c *stackGetCmd) into(t *terminal) (io.Writer, func(whole bool) error, error) {
	if c.Output == "" {
		return t.out, func(bool) error { return nil }, nil
	}
	f, err := os.CreateTemp(filepath.Dir(c.Output), "."+filepath.Base(c.Output)+"-*")
	if err != nil {
		return nil, nil, err
	}
	return f, func(whole bool) error {
		err := errors.Join(f.Chmod(0o644), f.Close())
		if whole && err == nil {
			return os.Rename(f.Name(), c.Output)
		}
		return errors.Join(err, os.Remove(f.Name()))
	}, nil
}

// progress is a line on the terminal that shows a download.
type progress struct {
	t       *terminal
	shown   bool
	total   int64 // expected bytes; -1: unknown
	n       int64
	began   time.Time
	written time.Time // time of the last line
}

// Write implements io.Writer.
func (p *progress) Write(b []byte) (int, error) {
	if p.n += int64(len(b)); p.shown && time.Since(p.written) > time.Second/5 {
		p.written = time.Now()
		p.line()
	}
	return len(b), nil
}

func (p *progress) line() {
	of := ""
	if p.total > 0 {
		of = fmt.Sprintf(" of %s, %d %%", size(p.total), 100*p.n/p.total)
	}
	rate := float64(p.n) / max(time.Since(p.began).Seconds(), 1e-3)
	fmt.Fprintf(p.t.err, "\r\x1b[K%s%s, %s/s", size(p.n), of, size(int64(rate)))
}

func (p *progress) end() {
	if p.shown {
		p.line()
		fmt.Fprintln(p.t.err)
	}
}

// size formats a number of bytes with a unit.
func size(n int64) string {
	v, unit := float64(n), "B"
	for _, larger := range []string{"kB", "MB", "GB", "TB"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, larger
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.3g %s", v, unit)
}
