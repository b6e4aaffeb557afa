package lab

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/workload/stream/streamload"
)

// requests is the workload of HTTP requests.
type requests struct {
	servers
	defaultPath string // of the requests of a load without one
	proxied     bool   // the subject is a proxy, with an upstream of the lab behind it
}

func (requests) patterns(e *Experiment) (all []string, byLoads bool) { return e.loadPatterns(), true }

// unit returns the word for a message in reports and progress.
func (e *Experiment) unit() string { return result.Plan{Workload: e.Workload}.Unit() }

// units returns the plural of unit.
func (e *Experiment) units() string { return result.Plan{Workload: e.Workload}.Units() }

// patterns returns the arrival patterns of the experiment's loads, and whether they determine them.
func (e *Experiment) patterns() (all []string, byLoads bool) {
	if w := e.workload(); w != nil {
		return w.patterns(e)
	}
	return load.Patterns, false
}

// pages are the default paths of requests by workload.
var defaultPaths = map[string]string{"page": "/" + pageFile, "files": "/" + textFile, proxied: "/" + textFile}

// guessedRate is the assumed rate of a closed loop per second, used to estimate the duration of a
// run before anything has been measured.
const guessedRate = 5000

// maxRequests bounds Load.Requests.
const maxRequests = 1_000_000_000

// pattern returns how the messages of l arrive: in the pattern of an open loop, otherwise in a
// closed loop, each after the answer to the one before.
func (l Load) pattern() string {
	if l.Rate == 0 && l.Operation != result.OperationPing && l.Operation != result.OperationIdle {
		return result.Closed
	}
	return cmp.Or(l.Pattern, load.Staggered)
}

// loadPatterns returns the distinct patterns of the experiment's loads.
func (e *Experiment) loadPatterns() []string {
	var all []string
	for _, l := range e.Loads {
		if !slices.Contains(all, l.pattern()) {
			all = append(all, l.pattern())
		}
	}
	return all
}

// hasHTTPSettings reports whether a setting is set that only loads of requests have.
func (l Load) hasHTTPSettings() bool {
	return l.Pattern != "" || l.Path != "" || l.NoKeepAlive || l.Requests != 0 || l.SleepMS != 0 || l.SleepEvery != 0 || l.Filters != 0 || l.Gzip || l.TLS || l.Cold
}

func (w requests) checkLoad(e *Experiment, l *Load) string {
	setDefault(&l.Path, w.defaultPath)
	most := float64(slices.Max(e.connectionsOf(*l)))
	switch {
	case l.hasStackSettings():
		return settingsOfStack
	case l.hasChatSettings():
		return settingsOfChat
	case duplicate("connections", l.Connections) != "":
		return duplicate("connections", l.Connections)
	case len(l.Connections) > 0 && !inRange(l.Connections, 1, load.MaxConnections):
		return fmt.Sprintf("connections must be numbers from 1 to %d", load.MaxConnections)
	case l.Size != 0 || l.Bits != 0 || l.Idle != 0 || l.Churn != 0 || l.WorkUS != 0 || l.WaitMS != 0:
		return "size, bits, idle, churn, work_us and wait_ms are for the workloads sink and echo: leave them out"
	case !strings.HasPrefix(l.Path, "/") || strings.ContainsAny(l.Path, " ?#%\\") || strings.Contains(l.Path, ".."):
		return fmt.Sprintf("the path %q is not a plain file path: write for example /%s", l.Path, textFile)
	case l.Rate != 0 && !(l.Rate >= 1e-3 && l.Rate*most <= streamload.MaxRate):
		return fmt.Sprintf("a rate of %v requests a second a connection is out of range: give 0.001 to %.0f for %.0f connections, or none for a closed loop", l.Rate, streamload.MaxRate/most, most)
	case l.Pattern != "" && !slices.Contains(load.Patterns, l.Pattern):
		return fmt.Sprintf("the pattern %q is unknown: give staggered, together or poisson", l.Pattern)
	case l.Pattern != "" && l.Rate == 0:
		return "a closed loop has no arrival pattern: give a rate with it"
	case l.Requests < 0 || l.Requests > maxRequests || l.Requests > 0 && l.Rate != 0:
		return fmt.Sprintf("requests must be from 0 to %d, and are for a closed loop, which has no rate", maxRequests)
	case l.SleepMS < 0 || l.SleepMS > 60_000 || l.SleepEvery < 0 || (l.SleepMS > 0) != (l.SleepEvery > 0):
		return "sleep_ms must be from 0 to 60000, and with it sleep_every says which requests sleep"
	case l.Filters < 0 || l.Filters > 1000:
		return "filters must be from 0 to 1000"
	}
	return ""
}

// messageRate returns about how many messages a second l makes over the given connections.
func (l Load) messageRate(connections int) float64 {
	if l.Rate > 0 || l.Churn > 0 {
		return l.Rate*float64(connections) + l.Churn
	}
	return math.Min(guessedRate, l.result().Requests.Ceiling(connections))
}

func (w requests) prepare(ctx context.Context, r *Runner) (err error) {
	if r.www, err = makeWWW(r.store.dir); err != nil {
		return err
	}
	if err = r.makeCertificate(); err != nil || !w.proxied {
		return err
	}
	r.upstream, err = startUpstream(ctx, r.options.Generator[0], r.www, r.site)
	return err
}

func (requests) restrict(r *Runner) {
	r.addSubjectsFromFiles()
	r.restrictTLS()
}

func (requests) args(r *Runner, p Place, l Load, addr string) []string {
	www := r.www
	if r.subjects[p.baseSubject()].Target != "" {
		www = "" // it serves its own files
	}
	return l.requestArgs(p.Connections, addr, www, r.certificate.Cert, r.arrivalSeed(p))
}

// requestArgs returns the generator's command line for l. Responses are compared with the file in
// www. www is empty if the subject serves its own files. ca is the file with the certificate that a
// load with TLS trusts. seed is that of Poisson arrivals.
func (l Load) requestArgs(connections int, addr, www, ca string, seed uint64) []string {
	args := []string{"http", "--steer", "--connections", strconv.Itoa(connections)}
	if l.Rate > 0 {
		args = append(args, "--rate", strconv.FormatFloat(l.Rate*float64(connections), 'f', -1, 64))
	}
	if l.Pattern != "" {
		args = append(args, "--pattern", l.Pattern, "--seed", strconv.FormatUint(seed, 10))
	}
	if l.NoKeepAlive {
		args = append(args, "--no-keep-alive")
	}
	if l.Gzip {
		args = append(args, "--accept-encoding", "gzip")
	}
	if www != "" {
		args = append(args, "--expect", filepath.Join(www, filepath.FromSlash(l.Path)))
	}
	if l.TLS {
		return append(args, "--ca", ca, "--key-exchange", keyExchange, "https://"+addr+l.Path)
	}
	return append(args, "http://"+addr+l.Path)
}

func (requests) fill(t *result.Trial, _ *running, l Load, g loadReport, _ collectorReports) {
	t.HTTP = &result.HTTP{Attempted: g.Offered, Answered: g.Answered, Failed: g.Failed, BodyBytes: g.BodyBytes, LatencyMeanUS: g.LatencyMeanUS, Errors: g.Errors}
	fillClosed(t)
	t.FailedBecause = append(t.FailedBecause, tlsFailures(l, g.TLS)...)
}

// overloadErrors are the request errors that an overloaded server causes. At a fixed rate they are
// a finding and not a failure, because the share of answered requests is what such a load measures.
// "limit" means that all connections were in use where each request needs its own.
var overloadErrors = []string{"connect", "timeout", "reset", "closed", "limit"}

// generatorErrorKind is the error of a generator that has no descriptor or port left.
const generatorErrorKind = "local"

// failures implements workload. A wrong response is wrong under every load. Any other error counts
// as not keeping up in a closed loop, which offers no more than is answered.
func (requests) failures(t *result.Trial, ev Evidence) (wrong, slow findings) {
	for _, kind := range slices.Sorted(maps.Keys(ev.Errors)) {
		strain := slices.Contains(overloadErrors, kind)
		wrong.add(!strain && kind != generatorErrorKind, result.LoadError+": %s, %d times", kind, ev.Errors[kind])
		slow.add(strain && t.Pattern == result.Closed, result.LoadError+": %s, %d times", kind, ev.Errors[kind])
	}
	return wrong, slow
}

// rejections implements workload. The achieved ratio is not judged: how many requests are answered
// depends on the subject. Lateness is judged, since it covers only requests that had a free
// connection.
func (requests) rejections(t *result.Trial, ev Evidence, _ bool) (why findings) {
	why.add(generatorSaturated(t, ev), result.GeneratorGaveOut+": it used or waited for %.0f %% of a core, and the subject had CPU to spare", loadPercent(t))
	why = append(why, boundClosedLoop(t, ev)...)
	why.add(t.Pattern == result.Closed && inFlightShare(t) < minInFlightShare, result.GeneratorGaveOut+": requests were with the subject for %.0f %% of the time of the connections (Little's law)", 100*inFlightShare(t))
	return why
}

// boundClosedLoop rejects a trial whose closed loop the generator limited.
func boundClosedLoop(t *result.Trial, ev Evidence) (why findings) {
	why.add(closedLoopGeneratorBound(t, ev), result.GeneratorGaveOut+": in a closed loop it used or waited for %.0f %% of a core, and the subject had CPU to spare", loadPercent(t))
	return why
}

// closedLoopGeneratorBound reports whether the generator limited the rate of a closed loop: its
// core was fully used, and the subject's was not. On shared cores neither has a core of its own.
func closedLoopGeneratorBound(t *result.Trial, ev Evidence) bool {
	return t.Pattern == result.Closed && !ev.SharedCores && generatorBusy(t) && !subjectBusy(t, Load{}, ev.Cores)
}

// inFlightShare returns the average share of a closed loop's connections whose request is at the
// subject: the rate times the mean latency, divided by the connections (Little 1961). It is 1 where
// the mean latency is not known.
func inFlightShare(t *result.Trial) float64 {
	if t.Connections == 0 || t.HTTP == nil || t.HTTP.LatencyMeanUS <= 0 {
		return 1
	}
	return min(1, t.Rate()*t.HTTP.LatencyMeanUS/1e6/float64(t.Connections))
}

// generatorSaturated reports whether fewer answers arrived than requests were due because the
// generator could not do more.
func generatorSaturated(t *result.Trial, ev Evidence) bool {
	short := t.Pattern != result.Closed && float64(t.Messages) < minSentShare*float64(t.HTTP.Attempted)
	return short && generatorBusy(t) && !subjectBusy(t, Load{}, ev.Cores)
}
