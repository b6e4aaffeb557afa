package workload

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"weir/lab/result"
)

// Evidence is what was observed during a trial beside its own figures. The trial is judged by it.
type Evidence struct {
	Window        time.Duration // length of the measured window
	Steal         time.Duration // CPU that the hypervisor took, all cores
	Neighbour     time.Duration // CPU that processes outside the trial used, all cores
	NeighbourName string        // the process that used most of it
	Lab           time.Duration // CPU of the lab process
	SharedCores   bool          // see Running.SharedCores
	// the subject is on this machine, but its processes are not known
	ServerUnaccounted bool
	// bytes in the subject's receive queues, not read by it, at the end of the window
	UnreadBytes int64
	Errors      map[string]int64 // failures that the generator found, by kind
	Cores       int              // cores that the subject could use; 0 if its CPU is not known
}

// Findings is a list of sentences.
type Findings []string

// Add adds a sentence under a condition.
func (f *Findings) Add(when bool, format string, args ...any) {
	if when {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}

const (
	// share of the messages that must be sent in time for a subject to keep up
	MinSentShare = 0.99
	minAchieved  = 0.999
	// least average share of a closed loop's connections that are with the subject, if the subject
	// limits the loop; the others wait for the generator
	MinInFlightShare = 0.9
	busyPercent      = 90    // percent of a core that count as fully used
	maxBehind        = 0.001 // share of the messages
	// A subject does not read if it leaves both more than maxUnread and more than maxQueued unread.
	maxUnread = 0.1 // share of the window's bytes
	maxQueued = 4   // messages per connection
)

// GeneratorErrorKind is the error of a generator that has no descriptor or port left.
const GeneratorErrorKind = "local"

// MessageFailures returns what is wrong or slow where the generator sends by a schedule and checks
// what it receives.
func MessageFailures(t *result.Trial, ev Evidence) (wrong, slow Findings) {
	for _, kind := range slices.Sorted(maps.Keys(ev.Errors)) {
		to := &wrong
		// Not received in time is slow, not wrong.
		if kind == "echo missing" || kind == "missing" {
			to = &slow
		}
		to.Add(true, result.LoadError+": %s, %d times", kind, ev.Errors[kind])
	}
	slow.Add(float64(t.Behind) > maxBehind*float64(t.Messages), "did not carry the load: the connection was full (not writable) for %d of %d messages", t.Behind, t.Messages)
	queued := int64(maxQueued*t.Connections) * t.Bytes / max(t.Messages, 1)
	slow.Add(float64(ev.UnreadBytes) > maxUnread*float64(t.Bytes) && ev.UnreadBytes > queued, "did not read: %d bytes were unread at the end of the window, in which %d were sent", ev.UnreadBytes, t.Bytes)
	return wrong, slow
}

// LoadShort rejects a trial whose messages were not all sent.
func LoadShort(t *result.Trial, onTime bool) (why Findings) {
	why.Add(onTime && t.AchievedRatio < minAchieved, result.LoadShort+": %.2f %% of the offered messages were sent", 100*t.AchievedRatio)
	return why
}

// BoundClosedLoop rejects a trial whose closed loop the generator limited: its core was fully used,
// and the subject's was not. On shared cores neither has a core of its own.
func BoundClosedLoop(t *result.Trial, ev Evidence) (why Findings) {
	bound := t.Pattern == result.Closed && !ev.SharedCores && GeneratorBusy(t) && !SubjectBusy(t, ev.Cores)
	why.Add(bound, result.GeneratorGaveOut+": in a closed loop it used or waited for %.0f %% of a core, and the subject had CPU to spare", LoadPercent(t))
	return why
}

// FillClosed corrects the figures of a closed loop: it offers exactly what is answered.
func FillClosed(t *result.Trial) {
	if t.Pattern == result.Closed {
		t.OfferedRate, t.AchievedRatio = 0, 1
	}
}

// InFlightShare returns the average share of a closed loop's messages that are with the subject:
// the rate times the mean latency, divided by the connections and their streams (Little 1961). It
// is 1 where the mean latency is not known.
func InFlightShare(t *result.Trial) float64 {
	if t.Connections == 0 || t.LatencyMeanUS <= 0 {
		return 1
	}
	most := t.Connections
	if t.HTTP != nil {
		most *= max(1, t.HTTP.Streams)
	}
	return min(1, t.Rate()*t.LatencyMeanUS/1e6/float64(most))
}

// LoadPercent returns the CPU that the generator used and waited for, in percent of a core. With
// agents it is that of the busiest.
func LoadPercent(t *result.Trial) float64 {
	if len(t.Agents) > 0 {
		return slices.MaxFunc(t.Agents, func(a, b result.AgentShare) int { return cmp.Compare(a.LoadPercent, b.LoadPercent) }).LoadPercent
	}
	if t.WindowS <= 0 {
		return 0
	}
	return 100 * (t.LoadUSPerMsg*float64(t.Messages)/1e6/t.WindowS + t.LoadRunQueue)
}

// GeneratorBusy reports whether the generator used its whole core.
func GeneratorBusy(t *result.Trial) bool { return LoadPercent(t) >= busyPercent }

// SubjectBusy reports whether the subject used nearly all of its cores. For a subject that runs
// elsewhere they are not known, and cores is 0.
func SubjectBusy(t *result.Trial, cores int) bool {
	return cores > 0 && t.CPUPercentMean >= busyPercent*float64(cores)
}
