package lab

import (
	"weir/lab/result"
	"weir/lab/workload"
)

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
	case t.Pattern != result.Closed && keptSchedule(t):
		return result.LimitSchedule
	case subjectBusy && generatorBusy && ev.SharedCores:
		return result.LimitSharedCores
	case subjectBusy:
		return result.LimitServerCPU
	case generatorBusy, t.Pattern == result.Closed && workload.InFlightShare(t) < workload.MinInFlightShare:
		return result.LimitGenerator
	case ev.Cores == 0:
		return result.LimitElsewhere
	}
	return result.LimitServerWaits
}

// keptSchedule reports whether a trial with a rate did all that was due, on time.
func keptSchedule(t *result.Trial) bool {
	due := t.OfferedRate * t.WindowS
	return t.AchievedRatio >= workload.MinSentShare && float64(t.Messages) >= workload.MinSentShare*due && float64(t.Behind) <= (1-workload.MinSentShare)*due
}

// lacksCores reports whether the subject's threads waited so long for a core that more cores would
// have helped.
func lacksCores(t *result.Trial) bool {
	return t.RunQueueRatio > 0 && t.CPUPercentMean > 0 && 100*t.RunQueueRatio > maxRunQueueShare*t.CPUPercentMean
}
