package http

import (
	"cmp"
	"math"
	"time"

	"weir/lab/report/reporttest"
	"weir/lab/result"
)

// webServer is a made-up HTTP server: its CPU in us per request and the highest rate that it
// answers.
type webServer struct {
	subject  result.Subject
	us       float64
	capacity float64
}

var webServers = []webServer{
	{result.Subject{Name: "http-nginx", Language: "C", Paradigm: "event loop", About: "nginx with one worker."}, 11, 80_000},
	{result.Subject{Name: "http-caddy", Language: "Go", Paradigm: "goroutine per connection", About: "Caddy's file server."}, 120, 8200},
	{result.Subject{Name: "http-fileserver", Language: "Go", Paradigm: "goroutine per connection", About: "Go's own FileServer."}, 30, 31_000},
	{result.Subject{Name: "http-weir-chain", Language: "Go", Paradigm: "goroutine per connection", About: "components as calls."}, 16, 60_000},
	{result.Subject{Name: "http-weir-network", Language: "Go", Paradigm: "process network", About: "components as processes."}, 18, 53_000},
	{result.Subject{Name: "http-go", Language: "Go", Paradigm: "goroutine per connection", About: "net/http."}, 28, 34_000},
	{result.Subject{Name: "http-go-raw", Language: "Go", Paradigm: "goroutine per connection", About: "TCP and correct HTTP."}, 21, 45_000},
	{result.Subject{Name: "http-node", Language: "JavaScript", Paradigm: "event loop", About: "one process."}, 55, 17_000},
}

func servers(names ...string) (all []webServer) {
	for _, name := range names {
		for _, s := range webServers {
			if s.subject.Name == name {
				all = append(all, s)
			}
		}
	}
	return all
}

// httpRun is a synthetic run of requests.
func httpRun(experiment, question, workload string, who []webServer, loads []result.Load, patterns ...string) *result.Results {
	s := reporttest.New([]int{100}, 5)
	s.Experiment, s.Question, s.Command = experiment, question, "weir lab run "+experiment+" --seed 7"
	s.Plan.Workload, s.Plan.Loads, s.Plan.Patterns, s.Plan.AAControl = workload, loads, patterns, who[0].subject.Name
	s.Subjects = nil
	for _, w := range who {
		s.Subjects = append(s.Subjects, w.subject)
	}
	for _, l := range loads {
		for block := range s.Plan.Blocks {
			drift := 1 + 0.1*s.Rand.NormFloat64()
			for turn := range 2 {
				for i, w := range who {
					addRequests(s, l, w, block, 2*i+turn, drift, "")
				}
				addRequests(s, l, who[0], block, 40+turn, drift, result.ControlSuffix)
			}
		}
	}
	s.Comparisons = Report{}.Compare().All(s.Results)
	return s.Results
}

// addRequests adds a trial of a server under a load, if it meets it.
func addRequests(s *reporttest.Synthetic, l result.Load, w webServer, block, position int, drift float64, suffix string) {
	q := l.Requests
	if q.Filters > 0 && w.subject.Paradigm != "process network" && w.subject.Name != "http-weir-chain" {
		return
	}
	us := w.us * drift * (1 + 0.03*s.Rand.NormFloat64())
	switch {
	case w.subject.Paradigm == "process network":
		us += 0.4 * float64(q.Filters)
	default:
		us += 0.03 * float64(q.Filters)
	}
	if q.Gzip {
		us += 140
	}
	rate, pattern, attempted := 0.0, result.Closed, l.Rate*100
	switch {
	case l.Rate > 0:
		rate, pattern = math.Min(attempted, w.capacity*(1+0.01*s.Rand.NormFloat64())), cmp.Or(q.Pattern, "staggered")
	case !math.IsInf(q.Ceiling(100), 1):
		rate = math.Min(0.99*q.Ceiling(100)*(1+0.001*s.Rand.NormFloat64()), w.capacity*0.8*(1+0.01*s.Rand.NormFloat64()))
	default:
		rate = w.capacity * (1 + 0.01*s.Rand.NormFloat64())
	}
	s.Add(result.Load{Name: l.Name, Rate: rate / 100}, 100, pattern, block, position, w.subject.Name+suffix, us)
	t := &s.Trials[len(s.Trials)-1]
	if attempted == 0 {
		attempted, t.OfferedRate = rate, 0
	} else {
		t.OfferedRate = attempted
	}
	t.Messages = int64(rate * t.WindowS)
	t.Bytes = t.Messages * 4300
	t.HTTP = &result.HTTP{Attempted: int64(attempted * t.WindowS), Answered: t.Messages, BodyBytes: t.Messages * 4096}
	if q.Gzip {
		t.HTTP.BodyBytes = t.Messages * 1730
	}
	t.LatencyUS = result.Percentiles{P50: 60 + us, P99: 900 + 20*us, P999: 5000, Max: 9000}
	if lost := t.HTTP.Attempted - t.Messages; lost > t.HTTP.Attempted/100 {
		t.HTTP.Failed, t.HTTP.Errors = lost/10, map[string]int64{"timeout": lost / 10, "reset": 3}
		t.LatencyUS.P50, t.LatencyUS.P99 = 900_000, 1_400_000
	}
}

func webRun() *result.Results {
	r := httpRun("web", "What does a small page cost each language when one request in ten waits, and can the published load rank the servers?", "page",
		servers("http-go", "http-go-raw", "http-weir-chain", "http-node"), []result.Load{
			{Name: "short sleeps", Requests: result.Requests{Path: "/page.html", SleepMS: 20, SleepEvery: 10}},
			{Name: "published", Requests: result.Requests{Path: "/page.html", NoKeepAlive: true, Count: 10_000, SleepMS: 2000, SleepEvery: 10, Cold: true, DurationS: 20}},
		}, result.Closed)
	for i := range r.Trials {
		if r.Trials[i].Load == "published" {
			r.Trials[i].ColdUSPerMsg, r.Trials[i].WarmMessages = 0, 12
		}
	}
	r.Skipped = []result.Skip{{Subject: "http-deno", Reason: "deno is not installed"}}
	r.Finished = r.Started.Add(30 * time.Minute)
	return r
}

func pipesRun() *result.Results {
	rate := func(name string, rate float64, q result.Requests) result.Load {
		q.Path = "/4k.html"
		return result.Load{Name: name, Rate: rate, Requests: q}
	}
	return httpRun("pipes", "What does it cost to compose a web server of components, as calls or as communicating processes, and how much load does it carry beside others?", "files",
		servers("http-nginx", "http-caddy", "http-fileserver", "http-weir-chain", "http-weir-network"), []result.Load{
			rate("1000/s", 10, result.Requests{}), rate("4000/s", 40, result.Requests{}), rate("16000/s", 160, result.Requests{}), rate("32000/s", 320, result.Requests{}),
			rate("closed loop", 0, result.Requests{}), rate("1 filter", 40, result.Requests{Filters: 1}), rate("8 filters", 40, result.Requests{Filters: 8}), rate("gzip", 10, result.Requests{Gzip: true}),
		}, "staggered", result.Closed)
}
