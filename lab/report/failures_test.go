package report

import (
	"bytes"
	"strings"
	"testing"

	"weir/lab/result"
)

// fail makes the n-th and every later trial of a subject one in which it failed.
func fail(r *result.Results, subject string, n int, why ...string) {
	for i := range r.Trials {
		if t := &r.Trials[i]; t.Subject == subject && t.Accepted {
			if n--; n < 0 {
				t.Accepted, t.FailedBecause = false, why
			}
		}
	}
}

// TestAFailureIsSaidBeforeTheAnswer: a server that is cheap because it does not do its work is not
// cheap.
func TestAFailureIsSaidBeforeTheAnswer(t *testing.T) {
	r := quick()
	fail(r, "c-fork", 0, "load error: wrong byte, 3 times", "load error: closed early, 1 times")
	fail(r, "c-epoll", 15, "did not carry the load: 9 of 8000 messages found their connection full")
	var out bytes.Buffer
	Terminal(&out, r, false, 500)
	question, rest, _ := strings.Cut(out.String(), "\n")
	first, rest, _ := strings.Cut(rest, "\n")
	second, _, _ := strings.Cut(rest, "\n")
	if question != r.Question || !strings.HasPrefix(first, "c-fork failed in ") || !strings.Contains(first, "wrong byte (") || !strings.Contains(first, "closed early (") || strings.Contains(first, "others") {
		t.Errorf("the first line of the summary is %q", first)
	}
	if !strings.HasPrefix(second, "c-epoll failed in ") || !strings.HasSuffix(second, "; its figures are those of the others.") {
		t.Errorf("the second line is %q", second)
	}
	page := string(documentOf(r).markdown())
	for _, want := range []string{"it failed", ", failed ", "Failures of the subjects", "9 of 8000 messages found their connection full"} {
		if !strings.Contains(page, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	for _, why := range digestOf(r).refusalReasons() {
		if strings.Contains(why.kind, "did not carry") || strings.Contains(why.kind, "load error") {
			t.Errorf("a failure stands among the refusals: %+v", why)
		}
	}
	if d := digestOf(r); d.accepted()+d.refused()+d.failed() != len(r.Trials) || d.failed() == 0 {
		t.Errorf("%d accepted, %d refused and %d failed of %d", d.accepted(), d.refused(), d.failed(), len(r.Trials))
	}
}

// TestConditionsOfAcceptedTrialsAreCounted: what weakens the figures of a trial that counts.
func TestConditionsOfAcceptedTrialsAreCounted(t *testing.T) {
	r := twoSubjects(result.Different)
	r.Trials[0].Unsteady, r.Trials[2].Unsteady = true, true
	r.Trials[1].LatenessUS.P50, r.Trials[1].OfferedRate = 130, 8000
	r.Trials[3].LatenessUS.P50, r.Trials[3].OfferedRate = 120, 8000
	r.Trials[5].EndedBadly = "b did not end within 4s of SIGTERM and was killed"
	said := strings.Join(digestOf(r).caveats(), "\n")
	for _, want := range []string{
		"In 2 of 6 accepted trials the warm-up came to its limit", "(a: 2)",
		"In 1 of 6 accepted trials half of the messages or more", "(b: 1)",
		"After its measurement b did not end within 4s of SIGTERM and was killed",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the caveats do not say %q:\n%s", want, said)
		}
	}
}

// TestATargetOnThisMachineIsNotSaidToBeOnAnother.
func TestATargetOnThisMachineIsNotSaidToBeOnAnother(t *testing.T) {
	for here, want := range map[bool]string{false: "ran on another machine", true: "was not started by the lab"} {
		r := twoSubjects(result.Different)
		r.Subjects = []result.Subject{{Name: "b", Elsewhere: true, Here: here}}
		said := strings.Join(digestOf(r).caveats(), "\n")
		if !strings.Contains(said, "b "+want) || here && strings.Contains(said, "another machine") {
			t.Errorf("here is %v, and the caveats are %q", here, said)
		}
	}
}
