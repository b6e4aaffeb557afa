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
	Output string `short:"o" type:"path" placeholder:"FILE" help:"Write to this file instead of standard output. The file appears when the whole response has arrived, also that of an error."`
}

// Help is the long part of the command's help.
func (c *stackGetCmd) Help() string {
	return `Uses Go's HTTP client over connections of a running host (weir stack up). https is verified against the certificates that this system trusts.

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
	h, err := c.findHost(ctx)
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
	output, finish, err := c.openOutput(t)
	if err != nil {
		return err
	}
	p := &progress{t: t, shown: t.errTTY && (c.Output != "" || !t.outTTY), total: resp.ContentLength, began: time.Now()}
	_, err = io.Copy(io.MultiWriter(output, p), resp.Body)
	p.end()
	if err = errors.Join(err, finish(err == nil)); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	if resp.StatusCode >= 400 {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return nil
}

// openOutput opens the output for the response's body. finish is called at the end. complete says
// whether the whole body was written: only then the file that --output names is created or
// replaced.
func (c *stackGetCmd) openOutput(t *terminal) (output io.Writer, finish func(complete bool) error, err error) {
	if c.Output == "" {
		return t.out, func(bool) error { return nil }, nil
	}
	f, err := os.CreateTemp(filepath.Dir(c.Output), "."+filepath.Base(c.Output)+"-*")
	if err != nil {
		return nil, nil, err
	}
	return f, func(complete bool) error {
		err := errors.Join(f.Chmod(0o644), f.Close())
		if complete && err == nil {
			return os.Rename(f.Name(), c.Output)
		}
		return errors.Join(err, os.Remove(f.Name()))
	}, nil
}

// progress is a line on the terminal that shows a download.
type progress struct {
	t         *terminal
	shown     bool
	total     int64 // expected bytes; -1: unknown
	received  int64 // bytes so far
	began     time.Time
	updatedAt time.Time // when the line was last written
}

// Write implements io.Writer.
func (p *progress) Write(b []byte) (int, error) {
	if p.received += int64(len(b)); p.shown && time.Since(p.updatedAt) > time.Second/5 {
		p.updatedAt = time.Now()
		p.writeLine()
	}
	return len(b), nil
}

func (p *progress) writeLine() {
	of := ""
	if p.total > 0 {
		of = fmt.Sprintf(" of %s, %d %%", size(p.total), 100*p.received/p.total)
	}
	rate := float64(p.received) / max(time.Since(p.began).Seconds(), 1e-3)
	fmt.Fprintf(p.t.err, "\r\x1b[K%s%s, %s/s", size(p.received), of, size(int64(rate)))
}

func (p *progress) end() {
	if p.shown {
		p.writeLine()
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
