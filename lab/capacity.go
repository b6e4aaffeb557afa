package lab

import (
	"math"
	"slices"
	"strings"
	"time"

	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/workload"
)

// The search for a subject's capacity, as pure functions of the outcomes of its trials.
const (
	// the search ends when the lowest rate that failed exceeds the highest that was carried by this
	// share at most
	bracketPrecision = 0.05
	// a search downwards ends at the first rate divided by this
	searchDepth = 256
	// limit on the 99th percentile of the latency of a subject that keeps up
	probeLatencyLimit = 100 * time.Millisecond
)

// nextProbeRate returns the rate to probe when the subject kept up with low and did not keep up
// with high; 0 means that no such rate is known yet. It returns 0 when the search is over. It
// doubles or halves from start until both bounds are known, then bisects on a logarithmic scale.
// limit is the highest rate that the generator can offer.
func nextProbeRate(start, low, high, limit float64) float64 {
	switch {
	case low == 0 && high == 0:
		return min(start, limit)
	case high == 0 && low >= limit, low == 0 && high <= start/searchDepth, high > 0 && high <= low*(1+bracketPrecision):
		return 0
	case high == 0:
		return min(2*low, limit)
	case low == 0:
		return high / 2
	}
	return math.Sqrt(low * high)
}

// judgeProbe decides whether the subject of a trial kept up, and if not, whether the generator was
// the limit. l is the load of the trial. cores is the number of cores of the subject, 0 where its
// CPU is not known. A subject with a configured wait may reach its limit without using them.
//
// An overload by a share x builds a queue of x times the window. With a latency limit of 100 ms, a
// window of 4 s detects an overload of 2.5 %; a shorter window detects only larger ones.
func judgeProbe(t *result.Trial, l result.Load, cores int) result.Probe {
	p := probeOf(t)
	limit := us(latencyLimit(t.Pattern, l))
	short, late := t.AchievedRatio < workload.MinSentShare, t.LatenessUS.P99 > limit
	blocked, slow := float64(t.Behind) > (1-workload.MinSentShare)*float64(t.Messages), t.LatencyUS.P99 > limit
	p.KeptUp = !short && !late && !blocked && !slow && !failedEchoes(t)
	p.GeneratorBound = !p.KeptUp && t.Messages > 0 && ((short || late) && !blocked || slow && workload.GeneratorBusy(t) && !(l.WaitMS == 0 && workload.SubjectBusy(t, cores)))
	if !p.KeptUp {
		p.DisturbedBy = externalReasons(t.RejectedBecause)
	}
	return p
}

func probeOf(t *result.Trial) result.Probe {
	return result.Probe{
		Subject: t.Subject, Load: t.Load, Connections: t.Connections, Pattern: t.Pattern,
		AchievedRatio: t.AchievedRatio, Behind: t.Behind, LatenessP99US: t.LatenessUS.P99, LatencyP99US: t.LatencyUS.P99,
		CPUPercentMean: t.CPUPercentMean, LoadPercent: workload.LoadPercent(t),
	}
}

// latencyLimit adds to probeLatencyLimit the time that a subject is configured to wait, and for
// bursts the time until the next burst.
func latencyLimit(pattern string, l result.Load) time.Duration {
	d := probeLatencyLimit + time.Duration(l.WaitMS)*time.Millisecond
	if pattern == load.Together {
		d += time.Duration(float64(time.Second) / l.Rate)
	}
	return d
}

// failedEchoes reports whether the generator missed an echo or received a wrong one.
func failedEchoes(t *result.Trial) bool {
	return len(withPrefix(result.LoadError, t.RejectedBecause))+len(withPrefix(result.LoadError, t.FailedBecause)) > 0
}

// agentDisturbed starts the text of each kind of agent.Disturbance.
const agentDisturbed = "agent"

// externalReasons returns the reasons for rejecting a trial that neither the generator nor the
// subject caused.
func externalReasons(reasons []string) []string {
	return slices.Concat(withPrefix(result.HypervisorTook, reasons), withPrefix(result.NeighbourTook, reasons), withPrefix(result.LabTook, reasons), withPrefix(agentDisturbed, reasons))
}

// withPrefix returns the reasons that start with prefix. The constants of result that start a
// reason are what tells kinds of reasons apart.
func withPrefix(words string, reasons []string) []string {
	return slices.DeleteFunc(slices.Clone(reasons), func(s string) bool { return !strings.HasPrefix(s, words) })
}

// shareRejections returns why a measurement at a share of capacity is rejected. A subject that does
// not keep up there is a finding, not a reason. A load that was late or short through the generator
// is a reason, since it distorts the tail of the latency.
func shareRejections(t *result.Trial) []string {
	if t.Messages == 0 { // there are no figures
		return slices.Concat(t.FailedBecause, externalReasons(t.RejectedBecause))
	}
	return slices.Concat(externalReasons(t.RejectedBecause), withPrefix(result.LoadShort, t.RejectedBecause), withPrefix(result.GeneratorLate+": 99th", t.RejectedBecause))
}
