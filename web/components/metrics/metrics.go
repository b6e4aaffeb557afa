// Package metrics counts what a server does, for Prometheus.
//
// A [Metrics] has a component, which counts exchanges when they are over; a collector, which
// reports the stages and edges of running compositions; and a handler that serves all of it,
// together with Go's metrics of the process.
//
//	weir_http_requests_total{route,class}      by class of status: 1xx to 5xx, or none
//	                                           for a connection closed without a status
//	weir_http_request_duration_seconds{route}  histogram: component to end of body
//	weir_http_response_bytes_total{route}      bytes of bodies that were sent
//	weir_http_requests_in_flight               exchanges in progress
//
//	weir_site_exchanges_active{site}           exchanges in progress in a composition
//	weir_stage_{calls,items,failed}_total{site,stage}   see [flow.StageStats]
//	weir_stage_service_seconds{site,stage}     mean sampled service time per item
//	weir_stage_width{site,stage}               concurrent calls; 0: no limit
//	weir_edge_{items,dropped,refused}_total{site,from,port,to}   see [flow.EdgeStats]
//	weir_edge_{depth,capacity}{site,from,port,to}                capacity is in batches
//	weir_upstream_{up,active}{site,proxy,upstream}   1: receives requests; in progress
//	weir_upstream_weight{site,proxy,upstream}        share of the exchanges; 0: drained
//	weir_upstream_{requests,failures}_total{site,proxy,upstream}
//
// The route is the value that a component behind has stored under [web.Route]. The metrics of
// [Metrics.ServerComponent] have a label more, server.
//
// # Limitations
//
// Route names must come from the configuration, not from clients: otherwise each value makes a time
// series. The method of a request is not a label. Bytes on a hijacked connection are not counted.
package metrics

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"weir/web"
)

// buckets are the upper bounds of the duration histogram in seconds.
var buckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// Metrics are the metrics of one or more servers. Its methods are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	bytes    *prometheus.CounterVec
	inFlight *prometheus.GaugeVec
	servers  sync.Map // of *counters, by name
}

// counters count the exchanges of a server.
type counters struct {
	*Metrics
	server   string
	inFlight prometheus.Gauge
	routes   sync.Map // of *route, by name
}

// route caches the counters of a route, so that they are not looked up by labels each time.
type route struct {
	class    [len(classes)]prometheus.Counter
	duration prometheus.Observer
	bytes    prometheus.Counter
}

// classes are the classes of statuses, indexed by status/100.
var classes = [...]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"}

// serverLabel names the server that counted. It is omitted where it is empty.
const serverLabel = "server"

// New returns new metrics.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_http_requests_total", Help: "Exchanges that are over."}, []string{serverLabel, "route", "class"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "weir_http_request_duration_seconds", Help: "How long exchanges took.", Buckets: buckets}, []string{serverLabel, "route"}),
		bytes:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_http_response_bytes_total", Help: "Bytes of bodies that were sent."}, []string{serverLabel, "route"}),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "weir_http_requests_in_flight", Help: "Exchanges that are not over."}, []string{serverLabel}),
	}
	// cannot fail: the names are distinct
	m.registry.MustRegister(m.requests, m.duration, m.bytes, m.inFlight,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Component returns a pipe that counts exchanges. Put it first. A server may have several, as long
// as no exchange passes two.
func (m *Metrics) Component() web.Component { return m.ServerComponent("") }

// ServerComponent is Component for one of several servers: its metrics have the label server. The
// name must come from the configuration.
func (m *Metrics) ServerComponent(server string) web.Component {
	s := m.server(server)
	return web.WithTraits(web.Pipe(func(c *web.Conn) {
		came := time.Now()
		s.inFlight.Inc()
		c.After(func(c *web.Conn) {
			s.inFlight.Dec()
			s.record(c, time.Since(came))
		})
	}), web.Traits{Name: "metrics", InProcess: "counts of requests"})
}

func (m *Metrics) server(name string) *counters {
	if s, ok := m.servers.Load(name); ok {
		return s.(*counters)
	}
	stored, _ := m.servers.LoadOrStore(name, &counters{Metrics: m, server: name, inFlight: m.inFlight.WithLabelValues(name)})
	return stored.(*counters)
}

func (s *counters) record(c *web.Conn, took time.Duration) {
	r := s.route(c.StringValue(web.Route))
	class := c.Status() / 100
	if class == 0 && c.Err() == nil && c.Body().IsHijack() {
		class = 1 // the connection was taken over
	}
	if class < 0 || class >= len(classes) {
		class = 0
	}
	r.class[class].Inc()
	r.duration.Observe(took.Seconds())
	r.bytes.Add(float64(c.Sent()))
}

func (s *counters) route(name string) *route {
	if r, ok := s.routes.Load(name); ok {
		return r.(*route)
	}
	r := &route{duration: s.duration.WithLabelValues(s.server, name), bytes: s.bytes.WithLabelValues(s.server, name)}
	for i, class := range classes {
		r.class[i] = s.requests.WithLabelValues(s.server, name, class)
	}
	stored, _ := s.routes.LoadOrStore(name, r) // concurrent callers get the same counters
	return stored.(*route)
}

// Handler serves the metrics. Put it on an address that only operators can reach.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(prometheus.GathererFunc(m.gather), promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// gather returns the metrics without empty labels server, which Prometheus would ignore.
func (m *Metrics) gather() ([]*dto.MetricFamily, error) {
	families, err := m.registry.Gather()
	for _, f := range families {
		for _, metric := range f.Metric {
			// a copy: the counter owns the slice
			metric.Label = slices.DeleteFunc(slices.Clone(metric.Label), func(l *dto.LabelPair) bool { return l.GetName() == serverLabel && l.GetValue() == "" })
		}
	}
	return families, err
}
