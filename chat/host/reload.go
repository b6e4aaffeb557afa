package host

import (
	"context"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
)

// fixed are the keys that hold from the start to the end.
var fixed = []string{"data", "listen", "run", "loops", "drain", "tls.listen", "tls.run", "tls.web", "tls.cert", "tls.key", "tls.self", "tls.acme", "tls.agreed", "tls.email",
	"tls.ca", "tls.store", "tls.challenge", "proxy.trusted", "server.name", "server.network", "server.no_search", "web.listen", "web.proxies", "upload.off", "metrics.listen", "log.format"}

// Fixed says whether a key holds from the start of a server to its end.
func Fixed(key string) bool { return slices.Contains(fixed, key) }

// limited are the keys that may only be lowered, as [chat.Service.Configure] names them.
var limited = map[string]string{"MaxConnections": "limits.connections", "MaxRooms": "limits.rooms"}

// Reload has another configuration hold from now on. Nobody loses a connection. What cannot change
// while the server runs stays as it was: kept are the keys of what is different. An error means
// that nothing was changed.
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
	kept = c.keep(h.Config())
	options.Name, options.Network, options.NoSearch = c.Server.Name, c.Server.Network, c.Server.NoSearch
	options.UploadURL = h.uploadsAt(&c)
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
		_ = h.page.SetOrigins(c.Web.Origins) // Check has seen them
	}
	if h.certificate != nil {
		// of the files that are named from the start on
		if err := h.certificate.Reload(); err != nil {
			h.log.Error("the certificate before stays in use", "error", err)
		}
	}
	h.level.Set(c.Log.level())
	h.config.Store(&c)
	h.looks()
	return kept, nil
}

// keep sets what is fixed to what it was, and names what is different.
func (c *Config) keep(old *Config) (kept []string) {
	for _, key := range fixed {
		is, was := c.field(key), old.field(key)
		if !reflect.DeepEqual(is.Interface(), was.Interface()) {
			kept = append(kept, key)
			is.Set(was)
		}
	}
	return kept
}

// field is what a key of the file sets.
func (c *Config) field(key string) reflect.Value {
	v := reflect.ValueOf(c).Elem()
	for word := range strings.SplitSeq(key, ".") {
		i := slices.IndexFunc(reflect.VisibleFields(v.Type()), func(f reflect.StructField) bool { return f.Tag.Get("toml") == word })
		v = v.Field(i)
	}
	return v
}

// lookEvery is how often Watch looks whether the file has changed.
const lookEvery = time.Second / 2

// Watch reloads the configuration when asked by reload, and when its file changes, which it sees
// within a second. A bad one is refused: what holds goes on, and the log says why. It returns when
// ctx ends.
func (h *Host) Watch(ctx context.Context, s Source, reload <-chan os.Signal) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	seen := h.Config().stamp
	for {
		select {
		case <-ctx.Done():
			return
		case <-reload:
		case <-tick.C:
			if now := stamp(s.File); now == seen || now == "" {
				continue
			}
		}
		seen = stamp(s.File)
		h.reread(s)
	}
}

// reread reads the configuration again.
func (h *Host) reread(s Source) {
	c, err := s.Read()
	var kept []string
	if err == nil {
		kept, err = h.Reload(c)
	}
	if err != nil {
		h.metrics.reloads.WithLabelValues("refused").Inc()
		h.log.Error("the configuration is refused: the old one goes on to hold", "error", err)
		return
	}
	h.metrics.reloads.WithLabelValues("taken").Inc()
	h.log.Info("reloaded", "file", s.File)
	if len(kept) > 0 {
		h.log.Warn("some changes hold from the next start on", "keys", strings.Join(kept, ", "))
	}
}

// stamp changes when the file does; it is empty while there is none, as when an editor puts another
// in its place.
func stamp(file string) string {
	i, err := os.Stat(file)
	if err != nil {
		return ""
	}
	return i.ModTime().String() + "/" + time.Duration(i.Size()).String()
}
