package host

import (
	"net/http"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"weir/chat/front"
	"weir/serve"
	"weir/web/server"
)

// commitBuckets are the histogram bounds of commit times, in seconds: from a disk that caches
// writes to a failing one.
var commitBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// metrics are the metrics of the host itself.
type metrics struct {
	registry *prometheus.Registry
	commits  prometheus.Histogram
	failed   prometheus.Counter
	reloads  *prometheus.CounterVec // by result: taken or refused
}

func newMetrics(h *Host) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		commits:  prometheus.NewHistogram(prometheus.HistogramOpts{Name: "weir_chat_commit_seconds", Help: "Time to append and fsync a batch of messages.", Buckets: commitBuckets}),
		failed:   prometheus.NewCounter(prometheus.CounterOpts{Name: "weir_chat_commit_failures_total", Help: "Batches of messages that the disk refused."}),
		reloads:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_chat_reloads_total", Help: "Reloads of the configuration, by result."}, []string{"result"}),
	}
	m.reloads.WithLabelValues("taken")
	m.reloads.WithLabelValues("refused")
	// cannot fail: the names are distinct
	m.registry.MustRegister(m.commits, m.failed, m.reloads, &collector{h},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// onCommit records the time and the result of a batch.
func (h *Host) onCommit(took time.Duration, err error) {
	h.metrics.commits.Observe(took.Seconds())
	if err != nil {
		h.metrics.failed.Inc()
	}
	h.health.onCommit(err)
}

// collector exports the counts of the host's parts.
type collector struct{ h *Host }

// Describe implements prometheus.Collector. It sends nothing, which makes the collector unchecked.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	sendCounts(to, "weir_chat_", "of the chat since its start", nil, nil, c.h.chat.Counts())
	label := []string{"entrance"}
	for name, s := range c.h.meters() {
		sendCounts(to, "weir_chat_entrance_", "of the connections of an entrance", label, []string{name}, s)
	}
	r := &c.h.retention
	bytes := prometheus.NewDesc("weir_chat_retention_removed_bytes_total", "Bytes of old messages that retention removed.", []string{"of"}, nil)
	to <- prometheus.MustNewConstMetric(bytes, prometheus.CounterValue, float64(r.rooms.Load()), "rooms")
	to <- prometheus.MustNewConstMetric(bytes, prometheus.CounterValue, float64(r.directs.Load()), "directs")
	if c.h.uploads != nil {
		files, size := c.h.uploads.Usage()
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc("weir_chat_files", "Uploaded files.", nil, nil), prometheus.GaugeValue, float64(files))
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc("weir_chat_file_bytes", "Size of the uploaded files, as counted against upload.total.", nil, nil), prometheus.GaugeValue, float64(size))
	}
	failures := prometheus.NewDesc("weir_chat_retention_failures_total", "Logs whose old messages could not be removed.", nil, nil)
	to <- prometheus.MustNewConstMetric(failures, prometheus.CounterValue, float64(r.failures.Load()))
}

// meters returns the connection counts of each entrance name.
func (h *Host) meters() map[string]serve.Snapshot {
	all := map[string]serve.Snapshot{}
	for _, e := range h.entrances {
		all[e.name] = e.meter.Snapshot()
	}
	if h.page != nil {
		all["web"] = h.pageMeter.Snapshot()
	}
	return all
}

// sendCounts sends each field of a struct of counts. An int64 is a counter, except Open; an int is
// a gauge.
func sendCounts(to chan<- prometheus.Metric, prefix, of string, labels, values []string, counts any) {
	v := reflect.ValueOf(counts)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		kind, suffix := prometheus.CounterValue, "_total"
		if v.Field(i).Kind() == reflect.Int || name == "Open" {
			kind, suffix = prometheus.GaugeValue, ""
		}
		desc := prometheus.NewDesc(prefix+snake(name)+suffix, name+" "+of+".", labels, nil)
		to <- prometheus.MustNewConstMetric(desc, kind, float64(v.Field(i).Int()), values...)
	}
}

// snake converts a Go name to snake case: LoginsFailed is logins_failed.
func snake(name string) string {
	var b strings.Builder
	for i, c := range name {
		if unicode.IsUpper(c) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// openMetrics opens the HTTP server of metrics and health.
func (h *Host) openMetrics(c *Config) error {
	if c.Metrics.Listen == "" {
		return nil
	}
	l, err := h.listen("metrics", "metrics.listen", c.Metrics.Listen)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(h.metrics.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeStatus(w, h.healthError()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { writeStatus(w, h.readyError()) })
	if h.metricsServer, err = server.New(front.OwnHosts(h.ownName, hostsKey, mux), server.Config{Listener: l, DrainTimeout: time.Second, MaxConns: 100, ErrorLog: h.webError}); err != nil {
		l.Close()
	}
	return err
}

// writeStatus writes "ok", or 503 and the error.
func writeStatus(w http.ResponseWriter, why error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if why != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(why.Error() + "\n"))
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}
