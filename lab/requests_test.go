package lab

import (
	"slices"
	"strings"
	"testing"
	"time"

	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/workload"
	"weir/lab/workload/http"
)

// These are tests of experiments whose messages are HTTP requests (package lab, requests.go).
//
// In an open loop the generator sends requests on a schedule (Load.Rate), whether or not earlier
// ones are answered. In a closed loop (no rate) each connection sends its next request after the
// response to the last one. A subject is a server under test. A cell is a load, a number of
// connections and an arrival pattern. A block is a set of trials of one cell in an order that reads
// the same backwards (A B B A). The A/A control is a subject that takes part a second time under
// another name.

// smallWeb is an experiment with one load, in closed loop. A test appends keys of that load.
const smallWeb = `
name = "mine"
workload = "files"
subjects = ["http-go"]
connections = [8]
[[load]]
`

func TestInvalidLoadOfRequestsIsRejectedWithARemedy(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"a key of echoes in a load of requests", smallWeb + "idle = 10\n", `no setting "load.idle"`},
		{"keys of requests in a load of messages", strings.Replace(smallWeb, "files", "sink", 1) + "rate = 1\nsize = 1\ngzip = true\n", `no setting "load.gzip"`},
		{"arrival patterns, which only echoes choose", "patterns = [\"poisson\"]\n" + smallWeb + "rate = 1\n", "patterns: requests, deliveries and operations come as their loads say"},
		{"no connections", strings.Replace(smallWeb, "[8]", "[0]", 1) + "rate = 1\n", "connections: requests, rooms and stacks need one at least"},
		{"a path that leads out of the folder", smallWeb + `path = "/../secret"` + "\n", `the path "/../secret" is not a plain file path`},
		{"connections twice", smallWeb + "connections = [2, 2]\n", "2 is given twice"},
		{"a load without connections", smallWeb + "connections = [0]\n", "connections must be numbers from 1"},
		{"a rate too high over the load's connections", smallWeb + "connections = [1000]\nrate = 1e5\n", "for 1000 connections"},
		{"TLS in a load of messages", strings.Replace(smallWeb, "files", "sink", 1) + "rate = 1\nsize = 1\ntls = true\n", `no setting "load.tls"`},
		{"a relative path", smallWeb + `path = "x"` + "\n", `the path "x" is not a plain file path`},
		{"a rate below the minimum", smallWeb + "rate = 1e-9\n", "a rate of 1e-09 requests a second a connection is out of range"},
		{"a rate that is not a number", smallWeb + "rate = nan\n", "a rate of NaN requests a second"},
		{"a rate too high over all connections", smallWeb + "rate = 1e6\n", "give 0.001 to 125000 for 8 connections"},
		{"more streams than the generator has", strings.Replace(smallWeb, "files", "requests", 1) + "connections = [101]\nhttp2 = true\nstreams = 1000\n", "1000 streams on each of 101 connections are too many"},
		{"a number of requests in an open loop", smallWeb + "rate = 1\nrequests = 10\n", "are for a closed loop"},
		{"an unknown arrival pattern", smallWeb + "rate = 1\npattern = \"even\"\n", `the pattern "even" is unknown: give staggered, together or poisson`},
		{"an arrival pattern of a closed loop", smallWeb + "pattern = \"poisson\"\n", "a closed loop has no arrival pattern: give a rate with it"},
		{"an arrival pattern in a load of messages", strings.Replace(smallWeb, "files", "sink", 1) + "rate = 1\nsize = 1\npattern = \"poisson\"\n", `no setting "load.pattern"`},
		{"a sleep without sleep_every", smallWeb + "sleep_ms = 10\n", "sleep_every says which requests sleep"},
		{"sleep_every without a sleep", smallWeb + "sleep_every = 10\n", "sleep_every says which requests sleep"},
		{"too many filters", smallWeb + "filters = 10000\n", "filters must be from 0 to 1000"},
		{"a negative number of blocks", smallWeb + "blocks = -1\n", "blocks must be from 0 to 1000"},
		{"a duration that is too short", smallWeb + "duration = \"1ms\"\n", "duration must be from 200ms"},
		{"saturation (shares of capacity), which only echoes have", "saturation = [70]\ntwin = false\n" + smallWeb + "rate = 1\n", "saturation: only echoes show whether a subject keeps up"},
	} {
		e, err := ParseExperiment("mine.toml", []byte(test.text))
		if err == nil {
			err = e.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want one with %q", test.name, err, test.want)
		}
	}
}

// TestPlansOfRequestsUseEachLoadsPattern checks a plan of four loads: "open" and "bursts" have a
// rate, "loop" is a closed loop for some subjects with blocks of its own, "unused" names only a
// subject that does not take part. Each load has its own arrival pattern, number of blocks and
// subjects.
func TestPlansOfRequestsUseEachLoadsPattern(t *testing.T) {
	e, err := ParseExperiment("mine.toml", []byte(strings.Replace(smallWeb, `["http-go"]`, `["a", "b", "c"]`, 1)+`name = "open"
rate = 1
[[load]]
name = "loop"
subjects = ["c", "a", "elsewhere"]
blocks = 2
[[load]]
name = "unused"
subjects = ["d"]
[[load]]
name = "bursts"
rate = 1
pattern = "together"
`))
	must(t, err)
	e.Blocks = 3
	must(t, e.Validate())
	must(t, e.Validate()) // validation may be repeated
	if !slices.Equal(e.Patterns, []string{load.Staggered, result.Closed, load.Together}) || e.Loads[0].(*http.Load).Path != "/4k.html" {
		t.Errorf("got patterns %v and path %q, want the patterns %v of the loads and /4k.html", e.Patterns, e.Loads[0].(*http.Load).Path, []string{load.Staggered, result.Closed, load.Together})
	}
	for seed := range uint64(20) {
		p := NewPlan(e, []result.Subject{{Name: "a"}, {Name: "b"}, {Name: "c"}}, seed)
		blocks, trials := map[workload.Cell]int{}, 0
		for block := range p.All() {
			c := block[0].Cell
			blocks[c]++
			trials += len(block)
			checkPalindrome(t, p, block)
		}
		if len(blocks) != 3 || blocks[workload.Cell{Load: "open", Connections: 8, Pattern: load.Staggered}] != 3 || blocks[workload.Cell{Load: "bursts", Connections: 8, Pattern: load.Together}] != 3 || blocks[workload.Cell{Load: "loop", Connections: 8, Pattern: result.Closed}] != 2 || trials != p.Trials() {
			t.Errorf("seed %d: got blocks %v with %d trials, want 3 blocks of open and bursts, 2 of loop, and the %d trials of Plan.Trials", seed, blocks, trials, p.Trials())
		}
	}
}

// checkPalindrome checks that the block reads the same backwards, that each subject that the load
// names has two trials, and that the A/A control is in it only together with its subject.
func checkPalindrome(t *testing.T, p Plan, block []Place) {
	t.Helper()
	want := []string{"a", "b", "c"}
	if block[0].Load == "loop" {
		want = []string{"a", "c"}
	}
	if slices.Contains(want, p.AAControl) {
		want = append(want, p.AAControl+result.ControlSuffix)
	}
	var got []string
	for i, place := range block {
		if place.Subject != block[len(block)-1-i].Subject {
			t.Errorf("position %d of %v: got %s, mirrored %s; want equal", i, block, place.Subject, block[len(block)-1-i].Subject)
		}
		got = append(got, place.Subject)
	}
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) || len(block) != 2*len(want) {
		t.Errorf("got subjects %v for the load %s, want %v", got, block[0].Load, want)
	}
}

// TestPublishedLoadIsUnchanged checks that no variant of the experiment web alters the load
// "published", which repeats a published measurement: ab -c 100 -n 10000. One request in ten sleeps
// 2 s. So 10,000 requests over 100 connections take 20 s or more (Floor), at most at 500 requests/s
// (Ceiling), with any server. Reports print these two bounds. A quick run has a part of it.
func TestPublishedLoadIsUnchanged(t *testing.T) {
	for _, want := range []struct {
		form, load string
		seconds    float64
	}{{"", "published", 20}, {"paper", "published", 20}, {"quick", "three tenths of the published", 6}} {
		e := builtinForm(t, "web", want.form)
		i := slices.IndexFunc(e.Loads, func(l workload.Load) bool { return l.Shared().Name == want.load })
		l := e.plan().Loads[i]
		if l.Requests.Floor(e.Connections[0]).Seconds() != want.seconds || l.Requests.Ceiling(e.Connections[0]) != 500 || !l.Requests.NoKeepAlive || l.Rate != 0 {
			t.Errorf("variant %q: got published load %+v over %v connections, want at least %v s and at most 500 requests/s, without keep-alive", want.form, l, e.Connections, want.seconds)
		}
		if e.Loads[i].(*http.Load).Path != "/page.html" || l.Requests.DurationS != want.seconds {
			t.Errorf("variant %q: got requests for %s during %v s, want /page.html during %v s", want.form, e.Loads[i].(*http.Load).Path, l.Requests.DurationS, want.seconds)
		}
	}
}

// builtinForm returns a built-in experiment in a variant; "" is the experiment itself.
func builtinForm(t *testing.T, name, form string) *Experiment {
	t.Helper()
	e, err := ReadExperiment(name)
	must(t, err)
	if form != "" {
		must(t, e.Apply(form))
	}
	must(t, e.Validate())
	return e
}

// TestQuickVariantsOfRequestsFitFourMinutes: --quick promises four minutes in all. The time limit
// is at most 200 s, because counting kernel events after the trials takes up to 40 s more. The
// trials of the first round run even beyond the limit, so they must fit it.
func TestQuickVariantsOfRequestsFitFourMinutes(t *testing.T) {
	for _, name := range []string{"web", "pipes"} {
		e := builtinForm(t, name, "quick")
		r := webRunner(e)
		var first time.Duration
		for block := range r.plan.All() {
			for _, p := range block {
				if p.Block == 0 {
					first += r.expectedDuration(p)
				}
			}
		}
		if limit := time.Duration(e.TimeLimit); first > limit || limit > 200*time.Second || limit == 0 {
			t.Errorf("%s --quick: got a first round of %v and a time limit of %v, want a limit of 200s at most (40 s remain for counting kernel events) and a first round within it", name, first, limit)
		}
	}
}

// TestEveryVariantOfPipesHasItsPlainLoad: the cost of a component is the difference to a load of
// the same rate without filters and compression, which all subjects serve (the plain load).
func TestEveryVariantOfPipesHasItsPlainLoad(t *testing.T) {
	for _, form := range []string{"", "quick"} {
		loads := builtinForm(t, "pipes", form).Loads
		for _, one := range loads {
			l := one.(*http.Load)
			plain := func(other workload.Load) bool {
				p := other.(*http.Load)
				return p.Rate == l.Rate && p.Filters == 0 && !p.Gzip && len(p.Subjects) == 0
			}
			if !slices.ContainsFunc(loads, plain) {
				t.Errorf("variant %q: got no plain load of %v requests/s, want one to compare %s with", form, l.Rate, l.Name)
			}
		}
	}
}

// TestFailedRequestsFailTheTrialExceptUnansweredOnes checks which trials of requests are accepted,
// rejected (the generator or the machine was at fault; the trial is repeated) or failed (the
// subject was at fault). In an open loop, the number of requests that are not answered is a result,
// so such a trial is accepted. goodTrial is the trial before each change.
func TestFailedRequestsFailTheTrialExceptUnansweredOnes(t *testing.T) {
	for _, test := range []struct {
		name             string
		change           func(*result.Trial, *workload.Evidence)
		rejected, failed string // part of the reason; empty: none
	}{
		{"open loop, all answered in time: accepted", func(*result.Trial, *workload.Evidence) {}, "", ""},
		{"open loop, half answered, the others timed out or disconnected: accepted", func(x *result.Trial, ev *workload.Evidence) {
			x.Messages, x.CPUPercentMean, ev.Errors = 4000, 100, map[string]int64{"timeout": 3000, "connect": 1, "reset": 2, "closed": 3, "limit": 4}
		}, "", ""},
		{"open loop, a wrong body: failed", func(_ *result.Trial, ev *workload.Evidence) { ev.Errors = map[string]int64{"body": 1} }, "", "load error: body, 1 times"},
		{"open loop, wrong statuses and an invalid response: failed", func(_ *result.Trial, ev *workload.Evidence) { ev.Errors = map[string]int64{"status": 2, "protocol": 1} }, "", "status, 2 times"},
		{"open loop, no local port left for the generator: rejected", func(_ *result.Trial, ev *workload.Evidence) { ev.Errors = map[string]int64{"local": 7} }, "without ports or descriptors: 7 times", ""},
		{"open loop, requests sent late, all answered: rejected", func(x *result.Trial, _ *workload.Evidence) { x.LatenessUS.P99 = 1001 }, "generator late", ""},
		{"open loop, requests sent late, half answered: rejected", func(x *result.Trial, _ *workload.Evidence) { x.Messages, x.LatenessUS.P99 = 4000, 1001 }, "generator late", ""},
		{"open loop, the generator at its limit, the subject not: rejected", func(x *result.Trial, _ *workload.Evidence) {
			x.Messages, x.LoadUSPerMsg, x.CPUPercentMean = 7000, 135, 60
		}, "gave out first: it used or waited for 94 % of a core", ""},
		{"open loop, the generator and the subject at their limits: accepted", func(x *result.Trial, _ *workload.Evidence) {
			x.Messages, x.LoadUSPerMsg, x.CPUPercentMean = 7000, 135, 99
		}, "", ""},
		{"closed loop, lateness and a low achieved ratio, which only a schedule has: accepted", func(x *result.Trial, _ *workload.Evidence) {
			x.Pattern, x.LatenessUS.P99, x.LatenessUS.P50, x.AchievedRatio = result.Closed, 1e6, 1e6, 0.5
		}, "", ""},
		{"closed loop, the generator at its limit, the subject not: rejected", func(x *result.Trial, ev *workload.Evidence) {
			x.Pattern, x.WindowS, x.Messages, x.LoadUSPerMsg, x.CPUPercentMean, ev.Cores = result.Closed, 1, 4000, 230, 70, 1
		}, "generator gave out first: in a closed loop it used or waited for 92 %", ""},
		{"closed loop, the generator and the subject at their limits: accepted", func(x *result.Trial, ev *workload.Evidence) {
			x.Pattern, x.WindowS, x.Messages, x.LoadUSPerMsg, x.CPUPercentMean, ev.Cores = result.Closed, 1, 4000, 230, 95, 1
		}, "", ""},
		{"closed loop, connections mostly wait for the generator: rejected", func(x *result.Trial, _ *workload.Evidence) {
			x.Pattern, x.WindowS, x.Messages, x.Connections = result.Closed, 1, 4000, 64
			x.LatencyMeanUS = 300
		}, "requests were with the subject for 2 % of the time of the connections (Little's law)", ""},
		{"closed loop, connections mostly wait for the generator, long tail of latency: rejected by the mean", func(x *result.Trial, _ *workload.Evidence) {
			x.Pattern, x.WindowS, x.Messages, x.Connections = result.Closed, 1, 4000, 64
			x.LatencyUS = result.Percentiles{P01: 100, P50: 200, P99: 50_000, P999: 60_000, Max: 70_000}
			x.LatencyMeanUS = 900
		}, "requests were with the subject for 6 % of the time of the connections (Little's law)", ""},
		{"closed loop, connections mostly wait for the subject: accepted", func(x *result.Trial, _ *workload.Evidence) {
			x.Pattern, x.WindowS, x.Messages, x.Connections = result.Closed, 1, 4000, 64
			x.LatencyMeanUS = 16_000
		}, "", ""},
		{"closed loop, a connection reset: failed", func(x *result.Trial, ev *workload.Evidence) {
			x.Pattern, ev.Errors = result.Closed, map[string]int64{"reset": 1}
		}, "", "reset, 1 times"},
		{"closed loop, a timeout while another process used the cores: rejected, not failed", func(x *result.Trial, ev *workload.Evidence) {
			x.Pattern, ev.Errors, ev.Neighbour = result.Closed, map[string]int64{"timeout": 1}, time.Second
		}, "timeout, 1 times", ""},
		{"another process used the cores: rejected", func(_ *result.Trial, ev *workload.Evidence) { ev.Neighbour = time.Second }, "another process took", ""},
	} {
		trial, ev := goodTrial()
		trial.HTTP, trial.WindowS, ev.Cores = &result.HTTP{Attempted: trial.Messages, Answered: trial.Messages}, 1, 1
		test.change(trial, &ev)
		judgeTrial(sessionOf(t, "page"), trial, ev)
		rejected, failed := strings.Join(trial.RejectedBecause, "; "), strings.Join(trial.FailedBecause, "; ")
		if (rejected == "") != (test.rejected == "") || (failed == "") != (test.failed == "") || !strings.Contains(rejected, test.rejected) || !strings.Contains(failed, test.failed) {
			t.Errorf("%s: got reasons for rejection %q and failures %q, want %q and %q", test.name, rejected, failed, test.rejected, test.failed)
		}
		if trial.Accepted != (rejected+failed == "") {
			t.Errorf("%s: got accepted %v, want %v, by the reasons above", test.name, trial.Accepted, rejected+failed == "")
		}
	}
}
