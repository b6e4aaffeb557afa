package host

import (
	"context"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
)

// fixed lists the keys that a reload cannot change.
var fixed = []string{"data", "listen", "model", "run", "loops", "drain", "tls.listen", "tls.model", "tls.run", "tls.web", "tls.cert", "tls.key", "tls.self", "tls.acme", "tls.agreed", "tls.email",
	"tls.ca", "tls.store", "tls.challenge", "proxy.trusted", "server.name", "server.network", "server.no_search", "web.listen", "web.proxies", "upload.off", "metrics.listen", "log.format"}

// Fixed reports whether a change of a key needs a restart.
func Fixed(key string) bool { return slices.Contains(fixed, key) }

// limited lists the keys that a reload can only lower, by their names in [chat.Service.Configure].
var limited = map[string]string{"MaxConnections": "limits.connections", "MaxRooms": "limits.rooms"}

// Reload replaces the configuration. No client is disconnected. Keys that cannot change while the
// server runs keep their values; kept lists those that differ. After an error nothing has changed.
func (h *Host) Reload(c Config) (kept []string, err error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	options, err := c.options()
	if err != nil {
		return nil, err
	}
	h.reloading.Lock()
	defer h.reloading.Unlock()
	kept = c.keepFixed(h.Config())
	options.Name, options.Network, options.NoSearch = c.Server.Name, c.Server.Network, c.Server.NoSearch
	options.UploadURL = h.uploadURLOf(&c)
	names, err := h.chat.Configure(options)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		kept = append(kept, limited[name])
	}
	if h.uploads != nil {
		h.uploads.Configure(c.Upload.options())
	}
	if h.page != nil {
		_ = h.page.SetOrigins(c.Web.Origins) // valid: checked by Check
	}
	if h.certificate != nil {
		// from the files that were configured at the start
		if err := h.certificate.Reload(); err != nil {
			h.log.Error("the former certificate stays in use", "error", err)
		}
	}
	h.level.Set(c.Log.level())
	h.config.Store(&c)
	h.retainNow()
	return kept, nil
}

// keepFixed restores the fixed keys from the old configuration and returns those that differ.
func (c *Config) keepFixed(old *Config) (kept []string) {
	for _, key := range fixed {
		is, was := c.field(key), old.field(key)
		if !reflect.DeepEqual(is.Interface(), was.Interface()) {
			kept = append(kept, key)
			is.Set(was)
		}
	}
	return kept
}

// field returns the field of a key.
func (c *Config) field(key string) reflect.Value {
	v := reflect.ValueOf(c).Elem()
	for word := range strings.SplitSeq(key, ".") {
		i := slices.IndexFunc(reflect.VisibleFields(v.Type()), func(f reflect.StructField) bool { return f.Tag.Get("toml") == word })
		v = v.Field(i)
	}
	return v
}

// pollInterval is how often Watch polls the file.
const pollInterval = time.Second / 2

// Watch reloads the configuration on a value from reload, and within a second after its file has
// changed. An invalid configuration is rejected and logged; the current one stays in effect. Watch
// returns when ctx ends.
func (h *Host) Watch(ctx context.Context, s Source, reload <-chan os.Signal) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	seen := h.Config().fileVersion
	for {
		select {
		case <-ctx.Done():
			return
		case <-reload:
		case <-tick.C:
			if now := fileVersion(s.File); now == seen || now == "" {
				continue
			}
		}
		seen = fileVersion(s.File)
		h.reloadFile(s)
	}
}

// reloadFile reads the configuration again and applies it.
func (h *Host) reloadFile(s Source) {
	c, err := s.Read()
	var kept []string
	if err == nil {
		kept, err = h.Reload(c)
	}
	if err != nil {
		h.metrics.reloads.WithLabelValues("refused").Inc()
		h.log.Error("the new configuration is invalid: the current one stays in effect", "error", err)
		return
	}
	h.metrics.reloads.WithLabelValues("taken").Inc()
	h.log.Info("reloaded", "file", s.File)
	if len(kept) > 0 {
		h.log.Warn("some changes take effect at the next start", "keys", strings.Join(kept, ", "))
	}
}

// fileVersion returns a text that changes with the file. It is "" while the file is missing, as
// when an editor replaces it.
func fileVersion(file string) string {
	i, err := os.Stat(file)
	if err != nil {
		return ""
	}
	return i.ModTime().String() + "/" + time.Duration(i.Size()).String()
}
