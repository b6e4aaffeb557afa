package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"weir/lab/report/reporttest"
	"weir/lab/result"
)

// fail marks the n-th and all later trials of a subject as failed.
func fail(r *result.Results, subject string, n int, why ...string) {
	for i := range r.Trials {
		if t := &r.Trials[i]; t.Subject == subject && t.Accepted {
			if n--; n < 0 {
				t.Accepted, t.FailedBecause = false, why
			}
		}
	}
}

// TestFailuresComeBeforeTheAnswer checks the summary and the report of a run with failures.
func TestFailuresComeBeforeTheAnswer(t *testing.T) {
	r := reporttest.Quick()
	for _, name := range []string{"c-fork", "c-fork" + result.ControlSuffix} {
		fail(r, name, 0, "load error: wrong byte, 3 times", "load error: closed early, 1 times")
	}
	fail(r, "c-epoll", 15, "did not carry the load: 9 of 8000 messages found their connection full")
	var out bytes.Buffer
	Terminal(&out, r, plain{}, false, 500)
	question, rest, _ := strings.Cut(out.String(), "\n")
	first, rest, _ := strings.Cut(rest, "\n")
	second, _, _ := strings.Cut(rest, "\n")
	if question != r.Question || !strings.HasPrefix(first, "c-fork failed in ") || !strings.Contains(first, "wrong byte (") || !strings.Contains(first, "closed early (") || strings.Contains(first, "other trials") {
		t.Errorf("got the first line %q, want the failure of c-fork", first)
	}
	if !strings.HasPrefix(second, "c-epoll failed in ") || !strings.HasSuffix(second, "; its figures are from the other trials.") {
		t.Errorf("got the second line %q, want the failure of c-epoll", second)
	}
	page := markdownOf(t, r)
	for _, want := range []string{"failed", ", failed ", "Failures of the subjects", "9 of 8000 messages found their connection full"} {
		if !strings.Contains(page, want) {
			t.Errorf("got a report without %q", want)
		}
	}
	for _, c := range rejectionCauses(r.Trials) {
		if strings.Contains(c.cause, "did not carry") || strings.Contains(c.cause, "load error") {
			t.Errorf("got a failure among the causes of rejection: %+v", c)
		}
	}
	if d := digestOf(r); d.Accepted()+d.rejected()+d.failed() != len(r.Trials) || d.failed() == 0 {
		t.Errorf("got %d accepted, %d rejected and %d failed, want %d in total", d.Accepted(), d.rejected(), d.failed(), len(r.Trials))
	}
}

// TestRejectionsAreCountedByTrial checks that a trial with several reasons is counted once, under
// the process that disturbed it.
func TestRejectionsAreCountedByTrial(t *testing.T) {
	r := &result.Results{}
	for _, reasons := range [][]string{
		{"load short: 98.10 % of the offered messages were sent", "another process took 20.5 % of a core: cc1 (process 4711)"},
		{"another process took 7.0 % of a core: cc1 (process 4712)"},
		{"generator late: median 130 us, limit 100 us", "hypervisor took 4.0 % of a core"},
		{"load short: 90.00 % of the offered messages were sent"},
		{"another process took 7.0 % of a core: processes that have ended since"},
		nil,
	} {
		r.Trials = append(r.Trials, result.Trial{Subject: "a", RejectedBecause: reasons})
	}
	var got []string
	for _, c := range rejectionCauses(r.Trials) {
		got = append(got, fmt.Sprintf("%d %s", c.trials, c.cause))
	}
	want := "2 another process took CPU: cc1; 1 hypervisor took CPU; 1 load short; 1 another process took CPU: processes that have ended since; 1 no reason recorded"
	if strings.Join(got, "; ") != want {
		t.Errorf("got %s\nwant %s", strings.Join(got, "; "), want)
	}
}

// TestConditionsOfAcceptedTrialsAreCounted checks the caveats about accepted trials.
func TestConditionsOfAcceptedTrialsAreCounted(t *testing.T) {
	r := reporttest.TwoSubjects(result.Different)
	r.Trials[0].Unsteady, r.Trials[2].Unsteady = true, true
	r.Trials[1].LatenessUS.P50, r.Trials[1].OfferedRate = 130, 8000
	r.Trials[3].LatenessUS.P50, r.Trials[3].OfferedRate = 120, 8000
	r.Trials[5].StopFailure = "b did not end within 4s of SIGTERM and was killed"
	said := strings.Join(digestOf(r).caveats(nil), "\n")
	for _, want := range []string{
		"In 2 of 6 accepted trials the warm-up reached its time limit", "(a: 2)",
		"In 1 of 6 accepted trials half or more of the messages", "(b: 1)",
		"After the measurement b did not end within 4s of SIGTERM and was killed",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("got caveats without %q:\n%s", want, said)
		}
	}
}

func TestCaveatOfASubjectThatTheLabDidNotStart(t *testing.T) {
	for here, want := range map[bool]string{false: "ran on another machine", true: "was not started by the lab"} {
		r := reporttest.TwoSubjects(result.Different)
		r.Subjects = []result.Subject{{Name: "b", Elsewhere: true, SameMachine: here}}
		said := strings.Join(digestOf(r).caveats(nil), "\n")
		if !strings.Contains(said, "b "+want) || here && strings.Contains(said, "another machine") {
			t.Errorf("on this machine %v: got the caveats %q, want %q", here, said, want)
		}
	}
}
