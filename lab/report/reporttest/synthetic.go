// Package reporttest makes runs for tests of reports, and compares reports with golden files.
//
// Limitations: PDF files are not compared.
package reporttest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"weir/lab/compare"
	"weir/lab/result"
)

// costs is the CPU in us per message of each subject under staggered, together and Poisson
// arrivals, near what a small machine shows.
var costs = []struct {
	subject result.Subject
	us      [3]float64
	rough   float64 // relative noise between trials
}{
	{result.Subject{Name: "c-fork", Language: "C", Paradigm: "process per connection", About: "fork for every connection; blocking read and write.", Lines: 96, BinaryBytes: 21_504}, [3]float64{10.4, 12.9, 10.9}, 0.03},
	{result.Subject{Name: "c-epoll", Language: "C", Paradigm: "event loop", About: "one loop around epoll_wait.", Lines: 143, BinaryBytes: 26_112}, [3]float64{8.3, 5.5, 7.1}, 0.03},
	{result.Subject{Name: "c-splice", Language: "C", Paradigm: "floor", About: "splices from the socket into a pipe and on to /dev/null.", Differs: "looks at no byte, so it cannot check messages", Lines: 110, BinaryBytes: 22_016}, [3]float64{7.2, 4.6, 6.1}, 0.03},
	{result.Subject{Name: "go-goroutine", Language: "Go", Paradigm: "goroutine per connection", About: "a goroutine for every connection.", Lines: 41, BinaryBytes: 2_411_724}, [3]float64{17.8, 7.0, 15.0}, 0.04},
	{result.Subject{Name: "go-loop", Language: "Go", Paradigm: "event loop", About: "raw epoll_pwait on a locked thread.", Lines: 58, BinaryBytes: 2_411_724}, [3]float64{8.6, 6.1, 8.1}, 0.03},
	{result.Subject{Name: "go-coroutine", Language: "Go", Paradigm: "coroutine per connection", About: "straight-line code on an event loop.", Lines: 47, BinaryBytes: 2_411_724}, [3]float64{8.2, 6.8, 8.5}, 0.03},
}

var patterns = []string{"staggered", "together", "poisson"}

// Synthetic makes a run out of costs, with drift and noise from a fixed seed.
type Synthetic struct {
	*result.Results
	Rand *rand.Rand // of the noise
	at   time.Time
}

// New returns a run of all subjects without trials, with the numbers of connections and of blocks.
func New(connections []int, blocks int) *Synthetic {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := &Synthetic{&result.Results{
		Version: result.Version, Experiment: "im",
		Question: "What does a chat server pay, in CPU and in stability, for handling its connections as processes, threads, an event loop or goroutines, under a constant load?",
		Command:  "weir lab run im --seed 7 --out runs/im", Seed: 7, Started: at, Finished: at.Add(20 * time.Minute),
		Plan: result.Plan{Workload: "sink", Loads: []result.Load{{Name: "messages", Rate: 125, Size: 1000}}, Connections: connections, Patterns: patterns,
			Blocks: blocks, DurationS: 1.5, WindowMS: 500, ServerCPUs: []int{1}, LoadCPUs: []int{0}, AAControl: "c-epoll", Margin: 0.05},
		Machine:           result.Machine{Kernel: "Linux 6.18.0", CPU: "Example CPU 2.6 GHz", Cores: 2, MemoryMB: 8000, Hypervisor: true, Congestion: "cubic", Versions: []string{"go1.26.8", "gcc 12.2.0"}},
		AccountingMethods: []result.AccountingMethod{{Name: "cgroup v2 cpu.stat", About: "the whole process tree to the microsecond, exited children included", Primary: true}},
	}, rand.New(rand.NewPCG(1, 2)), at}
	for _, c := range costs {
		s.Subjects = append(s.Subjects, c.subject)
	}
	return s
}

// Run adds palindromic blocks of every subject and the A/A control in every cell.
func (s *Synthetic) Run() *Synthetic {
	for _, load := range s.Plan.Loads {
		for _, n := range s.Plan.Connections {
			for p, pattern := range s.Plan.Patterns {
				for block := range s.Plan.Blocks {
					drift := 1 + 0.1*s.Rand.NormFloat64()
					for _, turn := range []int{0, 1} {
						s.half(load, n, p, pattern, block, turn, drift)
					}
				}
			}
		}
	}
	s.Headline = compare.Kind{}.Headline(s.Results)
	s.Comparisons = compare.Kind{}.All(s.Results)
	return s
}

// own adds blocks of the headline's subjects, the first of which is the A/A control, with costs a
// and b.
func (s *Synthetic) own(h result.Headline, blocks int, a, b float64) {
	s.Headline, s.Plan.AAControl = &h, h.A
	for number := range blocks {
		drift := 1 + 0.1*s.Rand.NormFloat64()
		for p, name := range []string{h.A, h.B, h.A + result.ControlSuffix, h.A + result.ControlSuffix, h.B, h.A} {
			us := a
			if name == h.B {
				us = b
			}
			s.Add(s.Plan.Loads[0], h.Connections, h.Pattern, result.FirstHeadlineBlock+number, p, name, us*drift*(1+0.03*s.Rand.NormFloat64()))
		}
	}
}

func (s *Synthetic) half(load result.Load, n, p int, pattern string, block, turn int, drift float64) {
	for i, subject := range s.Subjects {
		c := costs[i]
		us := c.us[p] * drift * (1 + c.rough*s.Rand.NormFloat64()) * (1 + 1.2/float64(n))
		s.Add(load, n, pattern, block, 2*i+turn, subject.Name, us)
		if subject.Name == s.Plan.AAControl {
			s.Add(load, n, pattern, block, 20+turn, subject.Name+"+twin", us*(1+c.rough*s.Rand.NormFloat64()))
		}
	}
}

// Add appends a trial; every fortieth is rejected.
func (s *Synthetic) Add(load result.Load, n int, pattern string, block, position int, subject string, us float64) {
	rate := float64(n) * load.Rate
	t := result.Trial{ID: len(s.Trials) + 1, Subject: subject, Load: load.Name, Connections: n, Pattern: pattern, Block: block, Position: position, Attempt: 1,
		Started: s.at.Add(time.Duration(len(s.Trials)) * 2 * time.Second), CPUPercentMean: us * rate / 1e4, CPUUSPerMessage: us,
		LoadUSPerMsg: 14 + s.Rand.Float64(), MachineUSPerMsg: us + 17 + s.Rand.Float64(), ColdUSPerMsg: us * (1.4 + 0.1*s.Rand.Float64()), WarmMessages: int64(2000 + s.Rand.IntN(500)),
		Messages: int64(rate * s.Plan.DurationS), OfferedRate: rate, AchievedRatio: 1, WindowS: s.Plan.DurationS, Accepted: true,
		LatenessUS: result.Percentiles{P01: 2, P50: 5, P99: 9 + s.Rand.Float64(), P999: 20, Max: 60},
		Memory:     result.Memory{PeakRSSKB: 4200, PSSKB: 1900, Processes: 1, Threads: 5}, Switches: result.Switches{Voluntary: int64(rate), Involuntary: 12}}
	t.Bytes = t.Messages * int64(load.Size)
	if pattern == "together" {
		t.SpreadUS = result.Percentiles{P01: 300, P50: 400, P99: 600, P999: 700, Max: 800}
	}
	if load.Churn > 0 {
		t.Churn = &result.Churn{Offered: 300, Done: 299, Behind: 1, DurationUS: result.Percentiles{P50: 150, P99: 900}}
	}
	if subject == "c-fork" {
		t.Memory = result.Memory{PeakRSSKB: int64(1500 * (n + 1)), PSSKB: int64(110 * (n + 1)), Processes: n + 1, Threads: n + 1}
	}
	s.sample(&t)
	if len(s.Trials)%40 == 39 {
		t.Accepted, t.AchievedRatio = false, 0.981
		t.RejectedBecause = []string{"load short: 98.10 % of the offered messages were sent", fmt.Sprintf("another process took %.1f %% of a core: cc1 (pid 4711)", 20+s.Rand.Float64())}
	}
	s.Trials = append(s.Trials, t)
}

// sample gives the trial 20 readings a second around its mean, and its variation.
func (s *Synthetic) sample(t *result.Trial) {
	step := t.CPUPercentMean / 100 * 50e6
	cpu := 0.0
	for i := 0; float64(i)*50 <= s.Plan.DurationS*1000; i++ {
		t.Samples = append(t.Samples, result.Sample{AtMS: float64(i) * 50, CPUNS: int64(cpu)})
		cpu += step * (1 + 0.08*s.Rand.NormFloat64())
	}
	t.CPUCV = 0.02 + 0.01*s.Rand.Float64()
	if t.Subject == "go-goroutine" {
		t.CPUCV += 0.02
		t.GC = &result.GC{Cycles: 1, SharePercent: 0.8, MaxPauseUS: 92}
	}
}

// why adds the parts that come from trials of their own.
func (s *Synthetic) why() *Synthetic {
	for i, c := range costs {
		s.EventCounts = append(s.EventCounts, result.EventCounts{Subject: c.subject.Name, Connections: 64, Pattern: "staggered", Tool: "strace", Syscalls: 2 + float64(i)/2,
			ByName: map[string]float64{"read": 1, "write": 1, "epoll_wait": float64(i) / 2}, Wakeups: -1, Switches: 1 + float64(i)/10, Messages: 4000})
	}
	s.SwitchCosts = []result.SwitchCost{
		{Between: "processes", NS: 1460, Low: 1390, High: 1710, How: "two processes pass a byte through pipes on one core"},
		{Between: "threads", NS: 1320, Low: 1250, High: 1500, How: "two threads pass a byte through pipes on one core"},
		{Between: "goroutines", NS: 96, Low: 92, High: 120, How: "runtime.Gosched between two"},
		{Between: "coroutines", NS: 130, Low: 128, High: 140, How: "iter.Pull"}}
	for _, subject := range []string{"c-fork", "c-epoll"} {
		s.Portability = append(s.Portability, result.Portability{Subject: subject, Target: "gcc x86-64", Built: true, Passed: true},
			result.Portability{Subject: subject, Target: "musl x86-64", Built: true, Passed: subject == "c-fork", Note: map[bool]string{false: "half-close: 12 bytes are missing"}[subject == "c-fork"]},
			result.Portability{Subject: subject, Target: "gcc arm64 (qemu-user)", Note: "not tested: aarch64-linux-gnu-gcc is not installed"})
	}
	for k, subject := range []string{"c-fork", "go-goroutine"} {
		s.nearCapacity(subject, 90_000-30_000*float64(k), k == 0, float64(k))
	}
	return s
}

// nearCapacity adds a subject's search and its shares; a restless one varies the more the nearer it
// gets.
func (s *Synthetic) nearCapacity(subject string, capacity float64, generatorBound bool, restless float64) {
	for _, rate := range []float64{8000, 64_000, 128_000, capacity, capacity * 1.04} {
		kept := rate <= capacity
		s.Probes = append(s.Probes, result.Probe{Subject: subject, Load: "messages", Connections: 64, Pattern: "poisson", Rate: rate, AchievedRatio: 1, LatenessP99US: 260,
			LatencyP99US: map[bool]float64{true: 2000, false: 400_000}[kept], CPUPercentMean: min(99, 100*rate/capacity), LoadPercent: 70, KeptUp: kept, GeneratorBound: !kept && generatorBound, Attempts: 1})
	}
	for round, repetition := range []float64{0, 1, 2, 3} {
		for i, share := range []float64{70, 85, 95} {
			m := result.Saturation{Subject: subject, Load: "messages", Connections: 64, Pattern: "poisson", CapacityRate: capacity, GeneratorBound: generatorBound, SharePercent: share,
				Round: round / 2, Position: 3*(round%2) + i, Attempt: 1, Started: s.at, CPUPercentMean: share, CPUCV: 0.02 + 0.001*repetition + restless*0.01*float64(i),
				LatencyUS: result.Percentiles{P50: 140, P99: (800 + 100*repetition) * float64(1+i*i), P999: 9000}, AchievedRatio: 1, LoadPercent: 60, Accepted: true}
			s.Saturation = append(s.Saturation, m)
		}
	}
	refused := s.Saturation[len(s.Saturation)-1]
	refused.Accepted, refused.CPUCV, refused.RejectedBecause = false, 9, []string{"hypervisor took 4.0 % of a core"}
	s.Saturation = append(s.Saturation, refused)
}

// Saturated returns a run with shares of capacity and nothing else.
func Saturated() *result.Results {
	s := New([]int{64}, 2)
	s.Subjects, s.Plan.AAControl, s.Plan.Workload, s.Plan.Patterns = s.Subjects[:4], "", "echo", []string{"poisson"}
	s.nearCapacity("c-fork", 61_000, false, 0)
	s.nearCapacity("c-epoll", 90_000, true, 0)
	s.nearCapacity("go-goroutine", 60_000, false, 1)
	return s.Results
}

// Full returns a run of streams with every part.
func Full() *result.Results { return New([]int{1, 8, 64}, 4).Run().why().Results }

// Quick returns a run of one load and four subjects, with a headline in blocks of its own.
func Quick() *result.Results {
	s := New([]int{64}, 3)
	s.Plan.Quick = true
	s.Subjects = s.Subjects[:4]
	s.own(result.Headline{A: "c-fork", B: "go-goroutine", Metric: result.MetricCPU, Load: "messages", Connections: 64, Pattern: "staggered", PlannedBlocks: 6}, 4, 10.5, 17.9)
	s.Skipped = []result.Skip{{Subject: "rust-tokio", Reason: "cargo is not installed: apt-get install cargo"}}
	return s.Run().Results
}

// Published returns a run of the published programs.
func Published() *result.Results {
	s := New([]int{1, 8, 16, 32, 64}, 1)
	s.Experiment = "im-published"
	s.Question = "How much of the published 14-fold difference between C processes and goroutines is made by the programs, by the load, and by the CPU accounting method?"
	s.Plan.Patterns, s.Plan.AAControl = []string{"staggered"}, ""
	s.Plan.Loads = []result.Load{{Name: "tcpkali", Rate: 1000, Size: 125, Bits: 1e6}, {Name: "messages", Rate: 125, Size: 1000}}
	s.Subjects = []result.Subject{{Name: "published-c", Language: "C", Paradigm: "process per connection"}, {Name: "published-go", Language: "Go", Paradigm: "goroutine per connection"}}
	s.AccountingMethods = append(s.AccountingMethods, result.AccountingMethod{Name: "sum of /proc/PID/stat", About: "ticks of 10 ms, of living processes"}, result.AccountingMethod{Name: "top, first 18 rows", About: "what fits on top's first page"})
	s.Run()
	for i := range s.Trials {
		t := &s.Trials[i]
		shown := t.CPUPercentMean
		if t.Subject == "published-go" {
			t.CPUPercentMean *= 2.2
			t.CPUUSPerMessage *= 2.2
			shown *= 2.2
		} else if n := t.Connections + 1; n > 18 {
			shown *= 18 / float64(n)
		}
		t.CPUByMethod = map[string]float64{"sum of /proc/PID/stat": t.CPUPercentMean * 0.9, "top, first 18 rows": shown}
	}
	s.Comparisons = compare.Kind{}.All(s.Results)
	return s.Results
}

// TwoSubjects returns a run in which a costs 5 and b costs 9, with the given verdict; "" means no
// comparison.
func TwoSubjects(verdict string) *result.Results {
	r := &result.Results{Plan: result.Plan{Patterns: []string{"staggered"}, WindowMS: 500}}
	for block := range 3 {
		r.Trials = append(r.Trials, result.Trial{Subject: "a", Connections: 64, Pattern: "staggered", Block: block, CPUUSPerMessage: 5, Accepted: true},
			result.Trial{Subject: "b", Connections: 64, Pattern: "staggered", Block: block, CPUUSPerMessage: 9, Accepted: true})
	}
	if verdict != "" {
		r.Comparisons = []result.Comparison{{A: "b", B: "a", Metric: result.MetricCPU, Connections: 64, Pattern: "staggered", Ratio: 1.8, VerdictLow: 1.6, VerdictHigh: 2, Pairs: 3, Verdict: verdict}}
	}
	return r
}
