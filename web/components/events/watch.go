package events

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"weir/web"
	"weir/web/components/internal/unit"
)

// WatchConfig says what is watched.
type WatchConfig struct {
	// Dir is the folder. Links in it are not followed, names that begin with a dot not looked at.
	Dir string `hcl:"dir"`

	// Interval is the time between two looks. Empty: "1s".
	Interval string `hcl:"interval,optional"`

	// MaxOpen is how many clients may watch at once, half of them from one address, but for
	// loopback; to others the answer is 503. Behind a load balancer, name its address in the
	// server's trusted: otherwise all users have one address. 0: sixteen.
	MaxOpen int `hcl:"max_open,optional"`

	// OnOverLimit receives a line for the operator when a client is rejected because it has half of
	// all places. Goroutines of exchanges call it. Nil: not reported.
	OnOverLimit func(line string)
}

// mostFiles is how many files a watched folder may have.
const mostFiles = 10_000

// Watch is an end of server-sent events that tells a page which files of a folder have changed,
// come or gone: an event "change", whose data are their paths, one a line. A page that reloads
// itself then is one line of script. Who calls Watch calls Close of the component, which is a *[Streams].
func Watch(cfg WatchConfig) (web.Component, error) {
	interval, err := unit.Duration("events: interval", cfg.Interval, time.Second)
	if err == nil && interval == 0 {
		err = fmt.Errorf("events: interval is %q, which leaves no time: write one such as \"1s\"", cfg.Interval)
	}
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(cfg.Dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("events: dir is %q, which is no folder that can be read", cfg.Dir)
	}
	files := os.DirFS(cfg.Dir)
	c, err := SSE(SSEConfig{MaxOpen: cmp.Or(cfg.MaxOpen, 16), OnOverLimit: cfg.OnOverLimit}, func(ctx context.Context, to *Stream) error {
		return watch(ctx, to, files, interval)
	})
	if err == nil {
		c.(*Streams).name = "watch"
	}
	return c, err
}

func watch(ctx context.Context, to *Stream, files fs.FS, interval time.Duration) error {
	before, err := look(files)
	if err != nil {
		return err
	}
	if err := to.Comment("watching"); err != nil {
		return err
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now, err := look(files)
		if err != nil {
			return err
		}
		if changed := differ(before, now); len(changed) > 0 {
			if err := to.Send(Event{Name: "change", Data: strings.Join(changed, "\n")}); err != nil {
				return err
			}
		}
		before = now
	}
}

// seen is what a look shows of a file.
type seen struct {
	size int64
	at   time.Time
}

// look lists the files. What goes away meanwhile is not there.
func look(files fs.FS) (map[string]seen, error) {
	found := map[string]seen{}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case name != "." && strings.HasPrefix(path.Base(name), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		case len(found) == mostFiles:
			return fmt.Errorf("events: the watched folder has more than %d files", mostFiles)
		}
		if info, err := d.Info(); err == nil {
			found[name] = seen{info.Size(), info.ModTime()}
		}
		return nil
	})
	return found, err
}

// differ lists what is not the same in both, in order.
func differ(a, b map[string]seen) []string {
	var names []string
	for name, was := range a {
		if is, ok := b[name]; !ok || is.size != was.size || !is.at.Equal(was.at) {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
