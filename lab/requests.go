package lab

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"weir/lab/load"
	"weir/lab/result"
)

// What loads of HTTP requests have of their own.

// http says whether the experiment's messages are HTTP requests.
func (e *Experiment) http() bool { return result.IsHTTP(e.Workload) }

// unit is what a message is called before people.
func (e *Experiment) unit() string { return result.Plan{Workload: e.Workload}.Unit() }

// units is the plural of unit.
func (e *Experiment) units() string { return result.Plan{Workload: e.Workload}.Units() }

// ownPatterns says whether the loads tell how messages come.
func (e *Experiment) ownPatterns() bool { return e.http() || e.chat() || e.stack() }

// pages is what is asked for under each workload unless a load says otherwise.
var pages = map[string]string{"page": "/" + pageFile, "files": "/" + textFile}

// guessedRate is what a closed loop is taken to make in a second, before anything is known, to
// estimate how long a run will take.
const guessedRate = 5000

// maxRequests is more than anybody waits for.
const maxRequests = 1_000_000_000

// pattern is how the requests of l come: in open loop evenly apart, else when the answers before
// them are in.
func (l Load) pattern() string {
	if l.Rate == 0 && l.Operation != result.OperationPing && l.Operation != result.OperationIdle {
		return result.Closed
	}
	return load.Staggered
}

// requestPatterns is the patterns of the experiment's loads, each once.
func (e *Experiment) requestPatterns() []string {
	var all []string
	for _, l := range e.Loads {
		if !slices.Contains(all, l.pattern()) {
			all = append(all, l.pattern())
		}
	}
	return all
}

// asksHTTP says whether anything is set that only requests have.
func (l Load) asksHTTP() bool {
	return l.Path != "" || l.NoKeepAlive || l.Requests != 0 || l.SleepMS != 0 || l.SleepEvery != 0 || l.Filters != 0 || l.Gzip || l.Cold
}

// badRequests fills in l's path and says what is wrong with a load of requests, or nothing.
func (e *Experiment) badRequests(l *Load) string {
	def(&l.Path, pages[e.Workload])
	most := float64(slices.Max(e.Connections))
	switch {
	case l.Size != 0 || l.Bits != 0 || l.Idle != 0 || l.Churn != 0 || l.WorkUS != 0 || l.WaitMS != 0:
		return "size, bits, idle, churn, work_us and wait_ms are for the workloads sink and echo: leave them out"
	case !strings.HasPrefix(l.Path, "/") || strings.ContainsAny(l.Path, " ?#%\\") || strings.Contains(l.Path, ".."):
		return fmt.Sprintf("the path %q is not that of a file to ask for: write for instance /%s", l.Path, textFile)
	case l.Rate != 0 && !(l.Rate >= 1e-3 && l.Rate*most <= load.MaxRate):
		return fmt.Sprintf("a rate of %v requests a second a connection is out of range: give 0.001 to %.0f for %.0f connections, or none for a closed loop", l.Rate, load.MaxRate/most, most)
	case l.Requests < 0 || l.Requests > maxRequests || l.Requests > 0 && l.Rate != 0:
		return fmt.Sprintf("requests must be from 0 to %d, and are for a closed loop, which has no rate", maxRequests)
	case l.SleepMS < 0 || l.SleepMS > 60_000 || l.SleepEvery < 0 || (l.SleepMS > 0) != (l.SleepEvery > 0):
		return "sleep_ms must be from 0 to 60000, and with it sleep_every says which requests sleep"
	case l.Filters < 0 || l.Filters > 1000:
		return "filters must be from 0 to 1000"
	}
	return ""
}

// perSecond is about how many messages a second l makes over so many connections.
func (l Load) perSecond(connections int) float64 {
	if l.Rate > 0 || l.Churn > 0 {
		return l.Rate*float64(connections) + l.Churn
	}
	return math.Min(guessedRate, l.result().Requests.Ceiling(connections))
}

// requestArgs is the generator's command for l. What the subject should answer is compared with the
// file in www, which is empty where the subject serves files of its own.
func (l Load) requestArgs(connections int, addr, www string) []string {
	args := []string{"http", "--steer", "--connections", strconv.Itoa(connections)}
	if l.Rate > 0 {
		args = append(args, "--rate", strconv.FormatFloat(l.Rate*float64(connections), 'f', -1, 64))
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
	return append(args, "http://"+addr+l.Path)
}

// fillRequests adds to a trial what the generator says of its requests. A closed loop offers what
// is answered.
func fillRequests(t *result.Trial, g loadReport) {
	t.HTTP = &result.HTTP{Attempted: g.Offered, Answered: g.Answered, Failed: g.Failed, BodyBytes: g.BodyBytes, Errors: g.Errors}
	if t.Pattern == result.Closed {
		t.OfferedRate, t.AchievedRatio = 0, 1
	}
}

// strainKinds are the errors of requests that a server makes when it is offered more than it can
// do. At a rate of the generator's choice they are a finding and not a failure: how many requests
// are answered is what such a load asks. "limit" is that all connections were taken where each
// request has its own.
var strainKinds = []string{"connect", "timeout", "reset", "closed", "limit"}

// ownKind is an error that is the generator's: it has no descriptor or no port left.
const ownKind = "local"

// requestFailures says what the subject did wrong with its requests, and what it only did not keep
// up with. Whatever the load, an answer that is not the right one is wrong. Any other error in a
// closed loop, which offers no more than is answered, is of the second kind.
func requestFailures(t *result.Trial, ev Evidence) (wrong, slow findings) {
	for _, kind := range slices.Sorted(maps.Keys(ev.Errors)) {
		strain := slices.Contains(strainKinds, kind)
		wrong.add(!strain && kind != ownKind, result.LoadError+": %s, %d times", kind, ev.Errors[kind])
		slow.add(strain && t.Pattern == result.Closed, result.LoadError+": %s, %d times", kind, ev.Errors[kind])
	}
	return wrong, slow
}

// loopIsTheGenerators reports whether the rate of a closed loop was the generator's: it had nothing
// left of its core, and the subject had. On shared cores neither has one of its own; and of a stack
// the generator is the peer.
func loopIsTheGenerators(t *result.Trial, ev Evidence) bool {
	return t.Pattern == result.Closed && t.Stack == nil && !ev.Shared && generatorBusy(t) && !subjectBusy(t, Load{}, ev.Cores)
}

// answering is the share of the connections of a closed loop whose request is with the subject, on
// average and at most: the rate times the mean time of a request, over the connections (Little 1961).
// The mean is taken as large as the percentiles allow.
func answering(t *result.Trial) float64 {
	l := t.LatencyUS
	if t.Connections == 0 || l.Max <= 0 {
		return 1
	}
	mean := (0.01*l.P01 + 0.49*l.P50 + 0.49*l.P99 + 0.009*l.P999 + 0.001*l.Max) / 1e6
	return min(1, t.Rate()*mean/float64(t.Connections))
}

// generatorGaveOut says whether fewer answers came than requests were due, and it was the generator
// that could not do more.
func generatorGaveOut(t *result.Trial, ev Evidence) bool {
	short := t.Pattern != result.Closed && float64(t.Messages) < keptShare*float64(t.HTTP.Attempted)
	return short && generatorBusy(t) && !subjectBusy(t, Load{}, ev.Cores)
}
