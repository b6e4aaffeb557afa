package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"weir/lab/report/format"
	"weir/lab/result"
)

// RejectionsSection counts the rejected trials by cause, and the trials in which a subject failed.
func (d *Digest) RejectionsSection() Section {
	s := Section{ID: "rejections", Title: "Rejected trials",
		How: "A trial is rejected and repeated if the load generator, the lab, another process or the hypervisor disturbed it. Its figures are not used. " +
			"A trial in which the subject itself failed is not repeated: it counts as a failure, and its figures are not used either."}
	t := &Table{Caption: d.rejectedOf(), Align: "lrl", Head: []string{"Cause", "Trials", "Example"}}
	for _, c := range rejectionCauses(d.Trials) {
		t.Add(c.cause, format.Count(c.trials), c.example)
	}
	s.Blocks = []Block{{Table: d.failuresTable()}, {Table: t}}
	return s
}

// rejectedOf is "2 of 90 trials were rejected".
func (d *Digest) rejectedOf() string {
	verb := "were"
	if d.rejected() == 1 {
		verb = "was"
	}
	return fmt.Sprintf("%s of %s %s rejected", format.Count(d.rejected()), format.Plural(len(d.Trials), "trial", "trials"), verb)
}

// causeList is the most frequent causes with their numbers of trials: "another process took CPU:
// cc1 (2), load short (1) and 3 more causes".
func (d *Digest) causeList(most int) string {
	causes := rejectionCauses(d.Trials)
	var words []string
	for _, c := range causes[:min(most, len(causes))] {
		words = append(words, fmt.Sprintf("%s (%s)", c.cause, format.Count(c.trials)))
	}
	if more := len(causes) - most; more > 0 {
		words = append(words, format.Plural(more, "more cause", "more causes"))
	}
	return format.List(words)
}

// MostFrequentRejection returns the most frequent cause of the rejected trials, as the report
// counts and names it, and "" if no trial was rejected.
func MostFrequentRejection(r *result.Results) string {
	causes := rejectionCauses(r.Trials)
	if len(causes) == 0 {
		return ""
	}
	return causes[0].cause
}

// rejection is a cause of rejections with the trials that it explains.
type rejection struct {
	cause, example string
	trials         int
}

// rejectionCauses returns the causes of rejection, the most frequent first. Each trial is counted
// once, under its most external reason: a process that took the core explains why the generator was
// late too.
func rejectionCauses(trials []result.Trial) []rejection {
	var out []rejection
	for i := range trials {
		t := &trials[i]
		if t.Accepted || len(t.FailedBecause) > 0 {
			continue
		}
		reason := mainReason(t.RejectedBecause)
		cause := causeOf(reason)
		at := slices.IndexFunc(out, func(r rejection) bool { return r.cause == cause })
		if at < 0 {
			at = len(out)
			out = append(out, rejection{cause: cause, example: fmt.Sprintf("trial %d (%s): %s", t.ID, t.Subject, strings.Join(t.RejectedBecause, "; "))})
		}
		out[at].trials++
	}
	slices.SortStableFunc(out, func(a, b rejection) int { return cmp.Compare(b.trials, a.trials) })
	return out
}

// externalReasons are the kinds of reasons that explain the other reasons of a trial, the strongest
// first.
var externalReasons = []string{result.HypervisorTook, result.NeighbourTook, result.LabTook, result.GeneratorGaveOut, result.GeneratorLate}

// mainReason returns the reason of a trial under which it is counted.
func mainReason(reasons []string) string {
	if len(reasons) == 0 {
		return "no reason recorded"
	}
	for _, kind := range externalReasons {
		for _, r := range reasons {
			if strings.HasPrefix(r, kind) {
				return r
			}
		}
	}
	return reasons[0]
}

// causeOf returns a reason without its figures, and with the name of the process that is to blame:
// "another process took the CPU: cc1".
func causeOf(reason string) string {
	for _, kind := range []string{result.HypervisorTook, result.LabTook} {
		if strings.HasPrefix(reason, kind) {
			return kind + " CPU"
		}
	}
	if !strings.HasPrefix(reason, result.NeighbourTook) {
		return ReasonKind(reason)
	}
	_, process, _ := strings.Cut(reason, ": ")
	if process = processID.ReplaceAllString(process, ""); process == "" {
		return result.NeighbourTook + " CPU"
	}
	return result.NeighbourTook + " CPU: " + process
}

// processID matches the process ID after a process's name.
var processID = regexp.MustCompile(` \((pid|process) \d+\)$`)

// ReasonKind returns a reason up to its first colon or figure, which differs from trial to trial.
func ReasonKind(why string) string {
	i := strings.IndexAny(why, ":0123456789")
	switch {
	case i <= 0:
		return strings.TrimSpace(why)
	case why[i] == ':':
		return why[:i]
	}
	return strings.TrimSpace(why[:i]) + " …"
}
