package http

import (
	"maps"
	"slices"

	"weir/lab/result"
	"weir/lab/workload"
)

// overloadErrors are the request errors that an overloaded server causes. At a fixed rate they are
// a finding and not a failure, because the share of answered requests is what such a load measures.
// "limit" means that all connections were in use where each request needs its own.
var overloadErrors = []string{"connect", "timeout", "reset", "closed", "limit"}

// Failures implements workload.Session. A wrong response is wrong under every load. Any other error
// counts as not keeping up in a closed loop, which offers no more than is answered.
func (*session) Failures(t *result.Trial, ev workload.Evidence) (wrong, slow workload.Findings) {
	return FailuresOf(t, ev, overloadErrors)
}

// FailuresOf returns what the subject did wrong, and separately where it only did not keep up. The
// errors of overload are those that an overloaded server causes.
func FailuresOf(t *result.Trial, ev workload.Evidence, overload []string) (wrong, slow workload.Findings) {
	for _, kind := range slices.Sorted(maps.Keys(ev.Errors)) {
		strain := slices.Contains(overload, kind)
		wrong.Add(!strain && kind != workload.GeneratorErrorKind, result.LoadError+": %s, %d times", kind, ev.Errors[kind])
		slow.Add(strain && t.Pattern == result.Closed, result.LoadError+": %s, %d times", kind, ev.Errors[kind])
	}
	return wrong, slow
}

// Rejections implements workload.Session. The achieved ratio is not judged: how many requests are
// answered depends on the subject. Lateness is judged, since it covers only requests that had a
// free connection.
func (*session) Rejections(t *result.Trial, ev workload.Evidence, _ bool) workload.Findings {
	return RejectionsOf(t, ev)
}

// RejectionsOf returns why a measurement with Trial.HTTP is not valid: the generator was its limit.
func RejectionsOf(t *result.Trial, ev workload.Evidence) (why workload.Findings) {
	why.Add(generatorSaturated(t, ev), result.GeneratorGaveOut+": it used or waited for %.0f %% of a core, and the subject had CPU to spare", workload.LoadPercent(t))
	why = append(why, workload.BoundClosedLoop(t, ev)...)
	why.Add(t.Pattern == result.Closed && workload.InFlightShare(t) < workload.MinInFlightShare, result.GeneratorGaveOut+": requests were with the subject for %.0f %% of the time of the connections (Little's law)", 100*workload.InFlightShare(t))
	return why
}

// generatorSaturated reports whether fewer answers arrived than requests were due because the
// generator could not do more.
func generatorSaturated(t *result.Trial, ev workload.Evidence) bool {
	short := t.Pattern != result.Closed && float64(t.Messages) < workload.MinSentShare*float64(t.HTTP.Attempted)
	return short && workload.GeneratorBusy(t) && !workload.SubjectBusy(t, ev.Cores)
}
