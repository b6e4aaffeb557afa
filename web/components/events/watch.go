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

// WatchConfig configures [Watch].
type WatchConfig struct {
	// Dir is the watched folder. Symbolic links in it are not followed, and names that start with a
	// dot are ignored.
	Dir string `hcl:"dir"`

	// Interval is the time between two scans. Empty: "1s".
	Interval string `hcl:"interval,optional"`

	// MaxOpen limits the connected clients; half of them may have one address, except loopback.
	// Further ones are answered by 503. Add the address of a load balancer to the server's trusted
	// proxies: otherwise all users share one address. 0: 16.
	MaxOpen int `hcl:"max_open,optional"`

	// OnOverLimit receives a line for the operator when a client is rejected because it has half of
	// all places. Goroutines of exchanges call it. Nil: not reported.
	OnOverLimit func(line string)
}

// maxFiles is the maximum number of files in a watched folder.
const maxFiles = 10_000

// Watch returns a source of server-sent events for files of a folder that change, appear or
// disappear. The event "change" has their paths as data, one per line. A page that reloads itself
// needs one line of script. The caller must call Close of the component, which is a *[Streams].
func Watch(cfg WatchConfig) (web.Component, error) {
	interval, err := unit.Duration("events: interval", cfg.Interval, time.Second)
	if err == nil && interval == 0 {
		err = fmt.Errorf("events: interval is %q, which is too short: write one such as \"1s\"", cfg.Interval)
	}
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(cfg.Dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("events: dir is %q, which is not a readable folder", cfg.Dir)
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
	before, err := scanFolder(files)
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
		now, err := scanFolder(files)
		if err != nil {
			return err
		}
		if changed := changedNames(before, now); len(changed) > 0 {
			if err := to.Send(Event{Name: "change", Data: strings.Join(changed, "\n")}); err != nil {
				return err
			}
		}
		before = now
	}
}

// fileState is what a scan sees of a file.
type fileState struct {
	size int64
	at   time.Time
}

// scanFolder lists the files. A file that is removed during the scan is left out.
func scanFolder(files fs.FS) (map[string]fileState, error) {
	found := map[string]fileState{}
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
		case len(found) == maxFiles:
			return fmt.Errorf("events: the watched folder has more than %d files", maxFiles)
		}
		if info, err := d.Info(); err == nil {
			found[name] = fileState{info.Size(), info.ModTime()}
		}
		return nil
	})
	return found, err
}

// changedNames returns the names of files that differ between two scans, sorted.
func changedNames(a, b map[string]fileState) []string {
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
