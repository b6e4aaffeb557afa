package lab

import (
	"math"
	"slices"
	"strings"
	"time"

	"weir/lab/load"
	"weir/lab/result"
)

// The search for a subject's capacity, as pure functions of what its trials showed.
const (
	// the rate that was kept up with and the one that was not come this close, as a share of the
	// first
	precision = 0.05
	// a subject that gives out at the first rate by this is not searched further
	searchDepth = 256
	patience    = 100 * time.Millisecond // 99 % of the echoes come sooner where a subject keeps up
	// of the messages are sent in time where a subject keeps up
	keptShare  = 0.99
	nearlyBusy = 90 // percent of a core
)

// next is the rate to try when low was kept up with and high was not (0: there is no such rate
// yet), and 0 when the search is over. It doubles or halves from start until it has both, then
// bisects on a logarithmic scale. limit is the highest rate that the generator offers.
func next(start, low, high, limit float64) float64 {
	switch {
	case low == 0 && high == 0:
		return min(start, limit)
	case high == 0 && low >= limit, low == 0 && high <= start/searchDepth, high > 0 && high <= low*(1+precision):
		return 0
	case high == 0:
		return min(2*low, limit)
	case low == 0:
		return high / 2
	}
	return math.Sqrt(low * high)
}

// maxOffered is the highest rate, over all connections, that the generator takes an order for.
func maxOffered(connections int) float64 {
	return min(load.MaxTotalRate, load.MaxRate*float64(connections))
}

// judge says of a trial whether its subject kept up, and if not, whether that was the generator's
// doing. l is the load of the trial; cores is how many the subject had, 0 where its CPU is not
// known.
//
// An overload by a share x makes a queue of x times the window: with patience for 100 ms, a window
// of 4 s shows one of 2.5 %, and a shorter window only a larger one.
func judge(t *result.Trial, l Load, cores int) result.Probe {
	p := probeOf(t)
	limit := us(patienceFor(t.Pattern, l))
	short, late := t.AchievedRatio < keptShare, t.LatenessUS.P99 > limit
	blocked, slow := float64(t.Behind) > (1-keptShare)*float64(t.Messages), t.LatencyUS.P99 > limit
	p.KeptUp = !short && !late && !blocked && !slow && !failedEchoes(t)
	p.GeneratorBound = !p.KeptUp && t.Messages > 0 && ((short || late) && !blocked || slow && generatorBusy(t) && !subjectBusy(t, l, cores))
	if !p.KeptUp {
		p.DisturbedBy = fromOutside(t.RefusedBecause)
	}
	return p
}

func probeOf(t *result.Trial) result.Probe {
	return result.Probe{
		Subject: t.Subject, Load: t.Load, Connections: t.Connections, Pattern: t.Pattern,
		AchievedRatio: t.AchievedRatio, Behind: t.Behind, LatenessP99US: t.LatenessUS.P99, LatencyP99US: t.LatencyUS.P99,
		CPUPercentMean: t.CPUPercentMean, LoadPercent: loadPercent(t),
	}
}

// patienceFor adds to patience what a subject is told to wait, and for bursts the time until the
// next one.
func patienceFor(pattern string, l Load) time.Duration {
	d := patience + time.Duration(l.WaitMS)*time.Millisecond
	if pattern == load.Together {
		d += time.Duration(float64(time.Second) / l.Rate)
	}
	return d
}

// loadPercent is what the generator used and waited for, in percent of a core.
func loadPercent(t *result.Trial) float64 {
	if t.WindowS <= 0 {
		return 0
	}
	return 100 * (t.LoadUSPerMsg*float64(t.Messages)/1e6/t.WindowS + t.LoadRunQueue)
}

func generatorBusy(t *result.Trial) bool { return loadPercent(t) >= nearlyBusy }

// subjectBusy says whether the subject had nearly nothing left of its cores. One that waits by
// order may reach its limit without using them, and of one that runs elsewhere they are not known.
func subjectBusy(t *result.Trial, l Load, cores int) bool {
	return l.WaitMS == 0 && cores > 0 && t.CPUPercentMean >= nearlyBusy*float64(cores)
}

// failedEchoes says whether the generator missed an echo or found one wrong.
func failedEchoes(t *result.Trial) bool {
	return len(beginning(result.LoadError, t.RefusedBecause))+len(beginning(result.LoadError, t.FailedBecause)) > 0
}

// fromOutside is those reasons for refusing a trial that neither its generator nor its subject
// made.
func fromOutside(reasons []string) []string {
	return slices.Concat(beginning(result.HypervisorTook, reasons), beginning(result.NeighbourTook, reasons), beginning(result.LabTook, reasons))
}

// beginning is those reasons that begin so: the words of the judgement of a trial tell its reasons
// apart.
func beginning(words string, reasons []string) []string {
	return slices.DeleteFunc(slices.Clone(reasons), func(s string) bool { return !strings.HasPrefix(s, words) })
}

// shareRefusals says why a measurement at a share of capacity does not count. A subject that does
// not keep up there is a finding, not a reason; a load that was late or short by itself is one,
// since it makes a part of the tail.
func shareRefusals(t *result.Trial) []string {
	if t.Messages == 0 {
		return t.FailedBecause // the subject gave up, and there are no figures
	}
	return slices.Concat(fromOutside(t.RefusedBecause), beginning(result.LoadShort, t.RefusedBecause), beginning(result.GeneratorLate+": 99th", t.RefusedBecause))
}
