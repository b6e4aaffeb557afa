package lab

import (
	"weir/lab/result"
	"weir/lab/workload"
)

// minInFlight is the least average share of a closed loop's connections that wait for the subject,
// if the subject is what limits the loop.
const minInFlight = 0.9

// maxRunQueueShare is the share of a subject's own CPU from which on its threads' waits for a core
// mean that cores are what it lacks.
const maxRunQueueShare = 0.5

// limitOf returns what limited the messages of a trial; empty if it is not known. An open loop that
// kept its schedule was limited by that alone. In a closed loop the connections are either with the
// subject or with the generator: by Little's law their average number with the subject is the rate
// times the mean time (Little 1961). The subject is the limit if they are there, and its CPU tells
// whether it computes or waits.
func limitOf(t *result.Trial, ev workload.Evidence) string {
	subjectBusy, generatorBusy := workload.SubjectBusy(t, ev.Cores) || lacksCores(t), workload.GeneratorBusy(t)
	switch {
	case t.Messages == 0:
		return ""
	case t.Pattern != result.Closed && keptUp(t):
		return result.LimitSchedule
	case subjectBusy && generatorBusy && ev.SharedCores:
		return result.LimitSharedCores
	case subjectBusy:
		return result.LimitServerCPU
	case generatorBusy, t.Pattern == result.Closed && inFlight(t) < minInFlight:
		return result.LimitGenerator
	case ev.Cores == 0:
		return result.LimitElsewhere
	}
	return result.LimitServerWaits
}

// keptUp reports whether a trial with a rate did all that was due, on time.
func keptUp(t *result.Trial) bool {
	due := t.OfferedRate * t.WindowS
	return t.AchievedRatio >= workload.MinSentShare && float64(t.Messages) >= workload.MinSentShare*due && float64(t.Behind) <= (1-workload.MinSentShare)*due
}

// lacksCores reports whether the subject's threads waited so long for a core that more cores would
// have helped.
func lacksCores(t *result.Trial) bool {
	return t.RunQueueRatio > 0 && t.CPUPercentMean > 0 && 100*t.RunQueueRatio > maxRunQueueShare*t.CPUPercentMean
}

// inFlight returns the average share of the connections whose message is with the subject; 1 where
// the mean time of messages is not known.
func inFlight(t *result.Trial) float64 {
	if t.Connections == 0 || t.LatencyMeanUS <= 0 {
		return 1
	}
	return min(1, t.Rate()*t.LatencyMeanUS/1e6/float64(t.Connections))
}
