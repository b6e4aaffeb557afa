// Package metrics counts what a server does, in the form that Prometheus reads.
//
// A [Metrics] has a component, which counts the exchanges that pass it when they are over; a
// collector, which tells of running compositions what their stages and edges have done; and a
// handler that serves all of it, with what Go knows of the process.
//
//	weir_http_requests_total{route,class}      exchanges by class of status: 1xx to 5xx, or none for a connection that was cut before one
//	weir_http_request_duration_seconds{route}  from the component to the end of the body, a histogram
//	weir_http_response_bytes_total{route}      of bodies, as far as they went out
//	weir_http_requests_in_flight               exchanges that are not over
//
//	weir_site_exchanges_active{site}                    exchanges under way in a composition
//	weir_stage_{calls,items,failed}_total{site,stage}   see [flow.StageStats]
//	weir_stage_{service_seconds,width}{site,stage}      the mean of the sampled service times an item; calls at once, 0 for any number
//	weir_edge_{items,dropped,refused}_total{site,from,port,to}, weir_edge_{depth,capacity}{…}   see [flow.EdgeStats]; capacity is in batches
//	weir_upstream_{up,active}{site,proxy,upstream}      whether a proxy's upstream is asked, and exchanges under way
//	weir_upstream_{requests,failures}_total{site,proxy,upstream}
//
// The route is what a component behind has left under [web.Route].
//
// # Limitations
//
// Route names come from the configuration, not from clients: who sets [web.Route] to something that
// clients choose makes a time series of each. The method of a request is no label. What passes on a
// connection that was taken over is not counted as bytes.
package metrics

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"weir/web"
)

// buckets are the upper bounds of durations in seconds: from a file in memory to a slow program.
var buckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// Metrics are the metrics of a server. Its methods may be called from any goroutine.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	bytes    *prometheus.CounterVec
	inFlight prometheus.Gauge
	routes   sync.Map // of *route, by name
}

// route is what is counted of a route. It saves looking each up by its labels.
type route struct {
	class    [len(classes)]prometheus.Counter
	duration prometheus.Observer
	bytes    prometheus.Counter
}

// classes are the classes of statuses, by status/100.
var classes = [...]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"}

// New makes the metrics of a server.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_http_requests_total", Help: "Exchanges that are over."}, []string{"route", "class"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "weir_http_request_duration_seconds", Help: "How long exchanges took.", Buckets: buckets}, []string{"route"}),
		bytes:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_http_response_bytes_total", Help: "Bytes of bodies that were sent."}, []string{"route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "weir_http_requests_in_flight", Help: "Exchanges that are not over."}),
	}
	// distinct names: it can't fail
	m.registry.MustRegister(m.requests, m.duration, m.bytes, m.inFlight,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Component is a pipe that counts. Stand first. Several may stand in one server, as long as no
// exchange passes two.
func (m *Metrics) Component() web.Component {
	return web.Named("metrics", web.Pipe(func(c *web.Conn) {
		came := time.Now()
		m.inFlight.Inc()
		c.After(func(c *web.Conn) {
			m.inFlight.Dec()
			m.note(c, time.Since(came))
		})
	}))
}

func (m *Metrics) note(c *web.Conn, took time.Duration) {
	r := m.route(c.StringValue(web.Route))
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

func (m *Metrics) route(name string) *route {
	if r, ok := m.routes.Load(name); ok {
		return r.(*route)
	}
	r := &route{duration: m.duration.WithLabelValues(name), bytes: m.bytes.WithLabelValues(name)}
	for i, class := range classes {
		r.class[i] = m.requests.WithLabelValues(name, class)
	}
	stored, _ := m.routes.LoadOrStore(name, r) // the same counters, whoever came first
	return stored.(*route)
}

// Handler serves the metrics. It belongs on an address that only operators reach.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}
