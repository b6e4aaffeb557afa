package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"weir/internal/suggest"
	"weir/tcpip/host"
	"weir/tcpip/metrics"
	"weir/web"
	"weir/web/components/compress"
	"weir/web/components/files"
	"weir/web/server"
)

// stackServices parses the services of a host.
func stackServices(said []string, t *terminal) (all []host.Service, err error) {
	taken := map[uint16]string{}
	for _, text := range said {
		s, err := stackService(text, t)
		if err != nil {
			return nil, usageError{err}
		}
		if other := taken[s.Port]; other != "" {
			return nil, usageError{fmt.Errorf("--service %s and %s use the same port %d: change one of them", other, text, s.Port)}
		}
		taken[s.Port] = text
		all = append(all, s)
	}
	return all, nil
}

var serviceNames = []string{"echo", "discard", "source", "files"}

func stackService(text string, t *terminal) (host.Service, error) {
	name, rest, _ := strings.Cut(text, "=")
	number, folder, isFolder := strings.Cut(rest, ":")
	port, err := strconv.ParseUint(number, 10, 16)
	simple := map[string]func(uint16) host.Service{"echo": host.Echo, "discard": host.Discard, "source": host.Source}[name]
	switch {
	case simple == nil && name != "files":
		return host.Service{}, fmt.Errorf("--service %s: there is no service %q: choose echo, discard, source or files%s", text, name, suggest.DidYouMean(name, serviceNames))
	case err != nil || port == 0:
		return host.Service{}, fmt.Errorf("--service %s: %q is not a port: write 1 to 65535, as in %s", text, number, example(name))
	case name == "files" && folder == "" || simple != nil && isFolder:
		return host.Service{}, fmt.Errorf("--service %s: write it as in %s", text, example(name))
	case simple != nil:
		return simple(uint16(port)), nil
	}
	return filesService(uint16(port), folder, t)
}

func example(service string) string {
	return map[string]string{"echo": "echo=7", "discard": "discard=9", "source": "source=19", "files": "files=80:www"}[service]
}

// filesService returns the service that serves a folder over HTTP.
func filesService(port uint16, folder string, t *terminal) (host.Service, error) {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return host.Service{}, fmt.Errorf("--service files=%d:%s: there is no folder %s", port, folder, folder)
	}
	source, err := files.New(files.Config{Dir: folder, List: true})
	if err != nil {
		return host.Service{}, err
	}
	zip, err := compress.New(compress.Config{})
	if err != nil {
		return host.Service{}, err
	}
	return host.Service{Name: "files", Port: port, Serve: func(ctx context.Context, l net.Listener) error {
		defer closer(source)()
		h, err := web.New(web.Chain(source, zip), web.Options{OnPanic: t.panicked})
		if err != nil {
			return err
		}
		defer h.Close()
		s, err := server.New(h, server.Config{Listener: l, DrainTimeout: drain, ErrorLog: t.errorLine})
		if err != nil {
			return err
		}
		if err = s.Run(ctx); errors.Is(err, server.ErrDrainTimeout) {
			return nil // an unfinished download does not keep the host running
		}
		return err
	}}, nil
}

// watchHost returns a function that serves a host's metrics until its context ends. Without an
// address that function only waits.
func watchHost(ctx context.Context, addr string, h *host.Host, t *terminal) (func(context.Context) error, error) {
	if addr == "" {
		return func(ctx context.Context) error { <-ctx.Done(); return nil }, nil
	}
	registry := prometheus.NewRegistry()
	// the names are distinct: it cannot fail
	registry.MustRegister(metrics.NewCollector(h.Stack()), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	s, err := server.New(mux, server.Config{Addr: addr, DrainTimeout: drain, ErrorLog: t.errorLine})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(t.err, "weir: metrics on %smetrics\n", address(s.Addr(), false))
	return func(ctx context.Context) error {
		if err := s.Run(ctx); !errors.Is(err, server.ErrDrainTimeout) {
			return err
		}
		return nil
	}, nil
}
