package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/flow"
)

// Site is a running composition with its name.
type Site struct {
	Name string
	Site interface { // a *web.Handler
		Topology() flow.Topology
		Active() int
	}
	Upstreams []Upstream // of its proxies
}

// Upstream is an upstream server of a proxy.
type Upstream struct {
	Proxy string `json:"proxy"` // the proxy's name
	Name  string `json:"name"`
	// "up", "aside" after failures, "down" by health checks, "drained" by a weight of 0
	State    string `json:"state"`
	Active   int    `json:"active"`   // exchanges in progress
	Requests int64  `json:"requests"` // total
	Failures int64  `json:"failures"` // total
	Weight   int    `json:"weight"`   // its share of the exchanges
	// the latest failure of a request or health check; "": none
	Last string `json:"last"`
}

// Up is the state of an upstream that receives requests.
const Up = "up"

// Watch adds the metrics of compositions. source returns the running ones; it is called for each
// scrape. Of two with the same name, the first counts. Watch may be called once.
func (m *Metrics) Watch(source func() []Site) error {
	return m.registry.Register(&sites{source})
}

// sites is a collector for the compositions.
type sites struct{ source func() []Site }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("weir_"+name, help, append([]string{"site"}, labels...), nil)
}

func ofStage(name, help string) *prometheus.Desc { return describe("stage_"+name, help, "stage") }

func ofEdge(name, help string) *prometheus.Desc {
	return describe("edge_"+name, help, "from", "port", "to")
}

var active = describe("site_exchanges_active", "Exchanges in progress.")

func ofUpstream(name, help string) *prometheus.Desc {
	return describe("upstream_"+name, help, "proxy", "upstream")
}

// upstreamMetrics are the metrics of each upstream.
var upstreamMetrics = []struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(Upstream) float64
}{
	{ofUpstream("up", "1: receives requests; 0: set aside after failures, failing health checks, or drained."), prometheus.GaugeValue, func(u Upstream) float64 {
		if u.State == Up {
			return 1
		}
		return 0
	}},
	{ofUpstream("weight", "Share of the exchanges; 0: drained."), prometheus.GaugeValue, func(u Upstream) float64 { return float64(u.Weight) }},
	{ofUpstream("active", "Exchanges in progress."), prometheus.GaugeValue, func(u Upstream) float64 { return float64(u.Active) }},
	{ofUpstream("requests_total", "Requests sent, retries included."), prometheus.CounterValue, func(u Upstream) float64 { return float64(u.Requests) }},
	{ofUpstream("failures_total", "Requests that failed."), prometheus.CounterValue, func(u Upstream) float64 { return float64(u.Failures) }},
}

// stageMetrics and edgeMetrics are the metrics of each stage and edge.
var (
	stageMetrics = []struct {
		desc *prometheus.Desc
		kind prometheus.ValueType
		of   func(flow.StageStats) float64
	}{
		{ofStage("calls_total", "Batches that the stage received."), prometheus.CounterValue, func(s flow.StageStats) float64 { return float64(s.Calls) }},
		{ofStage("items_total", "Exchanges that the stage has completed."), prometheus.CounterValue, func(s flow.StageStats) float64 { return float64(s.Items) }},
		{ofStage("failed_total", "Exchanges dropped because the stage panicked."), prometheus.CounterValue, func(s flow.StageStats) float64 { return float64(s.Failed) }},
		{ofStage("service_seconds", "Mean sampled service time per exchange."), prometheus.GaugeValue, func(s flow.StageStats) float64 { return s.ServiceNS / float64(time.Second) }},
		{ofStage("width", "Exchanges that the stage serves at once; 0: any number."), prometheus.GaugeValue, func(s flow.StageStats) float64 { return float64(s.Width) }},
	}
	edgeMetrics = []struct {
		desc *prometheus.Desc
		kind prometheus.ValueType
		of   func(flow.EdgeStats) float64
	}{
		{ofEdge("items_total", "Exchanges that the edge accepted."), prometheus.CounterValue, func(e flow.EdgeStats) float64 { return float64(e.Items) }},
		{ofEdge("dropped_total", "Exchanges dropped because the edge was full."), prometheus.CounterValue, func(e flow.EdgeStats) float64 { return float64(e.Dropped) }},
		{ofEdge("refused_total", "Exchanges rejected because the edge was full."), prometheus.CounterValue, func(e flow.EdgeStats) float64 { return float64(e.Refused) }},
		{ofEdge("depth", "Exchanges that wait on the edge or are in the stage behind it."), prometheus.GaugeValue, func(e flow.EdgeStats) float64 { return float64(e.Depth) }},
		{ofEdge("capacity", "Capacity of the edge in batches."), prometheus.GaugeValue, func(e flow.EdgeStats) float64 { return float64(e.Cap) }},
	}
)

// Describe implements [prometheus.Collector].
func (s *sites) Describe(to chan<- *prometheus.Desc) {
	to <- active
	for _, m := range stageMetrics {
		to <- m.desc
	}
	for _, m := range edgeMetrics {
		to <- m.desc
	}
	for _, m := range upstreamMetrics {
		to <- m.desc
	}
}

// Collect implements [prometheus.Collector].
func (s *sites) Collect(to chan<- prometheus.Metric) {
	reported := map[string]bool{}
	for _, site := range s.source() {
		if reported[site.Name] {
			continue
		}
		reported[site.Name] = true
		to <- prometheus.MustNewConstMetric(active, prometheus.GaugeValue, float64(site.Site.Active()), site.Name)
		t := site.Site.Topology()
		for _, stage := range t.Stages {
			for _, m := range stageMetrics {
				to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.of(stage), site.Name, stage.Name)
			}
		}
		for _, e := range t.Edges {
			for _, m := range edgeMetrics {
				to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.of(e), site.Name, e.From, strconv.Itoa(e.Port), e.To)
			}
		}
		site.collectUpstreams(to)
	}
}

// collectUpstreams collects the metrics of a site's upstreams. Of two with one name in a proxy, the
// first counts.
func (s Site) collectUpstreams(to chan<- prometheus.Metric) {
	reported := map[[2]string]bool{}
	for _, u := range s.Upstreams {
		if reported[[2]string{u.Proxy, u.Name}] {
			continue
		}
		reported[[2]string{u.Proxy, u.Name}] = true
		for _, m := range upstreamMetrics {
			to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.of(u), s.Name, u.Proxy, u.Name)
		}
	}
}
