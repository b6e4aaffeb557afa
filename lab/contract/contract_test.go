package contract

import (
	"slices"
	"strings"
	"testing"

	"weir/lab/subject"
)

func TestWorkloadWithoutContractIsSkippedWithTheReason(t *testing.T) {
	s := &subject.Subject{Name: "x", Workloads: []string{"fax"}, RunCmd: []string{"x", "{addr}"}}
	found := Run(t.Context(), s, []Kind{{Workloads: []string{"sink"}}}, Options{Hosts: []string{"127.0.0.1"}})
	if len(found) != 1 || found[0].Name != "start" || !strings.Contains(found[0].Skipped, "the workload fax has no checks") {
		t.Errorf("got %+v, want the start skipped for that", found)
	}
}

func TestNamesListsEachCheckOnce(t *testing.T) {
	kinds := []Kind{{Checks: []Check{{Name: "body"}, BadFlags}}, {Checks: []Check{{Name: "echo"}, BadFlags}}}
	if got, want := Names(kinds), []string{"body", "bad flags", "echo"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDueChecksApplyToTheSubject(t *testing.T) {
	k := Kind{OwnFlags: []string{"--listen {addr}", "--workload {workload}"}, Checks: []Check{{Name: "any"}, {Name: "echo only", Workload: "echo"}, {Name: "own", Own: true}}}
	for _, test := range []struct {
		what string
		s    subject.Subject
		only []string
		want string
	}{
		{"another's flags", subject.Subject{RunCmd: []string{"x", "{addr}"}}, nil, "any"},
		{"this project's flags", subject.Subject{RunCmd: []string{"x", "--listen", "{addr}", "--workload", "{workload}"}}, nil, "any own"},
		{"published", subject.Subject{RunCmd: []string{"x", "--listen", "{addr}", "--workload", "{workload}"}, Contract: "published"}, nil, "any"},
		{"only one", subject.Subject{RunCmd: []string{"x", "--listen", "{addr}", "--workload", "{workload}"}}, []string{"own"}, "own"},
	} {
		due := k.due(&test.s, Options{Only: test.only}, "sink")
		if got := strings.Join(Names([]Kind{{Checks: due}}), " "); got != test.want {
			t.Errorf("%s: got the checks %q, want %q", test.what, got, test.want)
		}
	}
}

// TestOnlyNeighboursShareAServer: checks keep their order, so one that does not share ends a round.
func TestOnlyNeighboursShareAServer(t *testing.T) {
	shared, alone := Check{Shares: true}, Check{}
	for _, test := range []struct {
		due  []Check
		want int
	}{
		{[]Check{shared}, 1},
		{[]Check{shared, shared, alone, shared}, 2},
		{[]Check{alone, shared}, 1},
	} {
		if got := sharing(test.due); got != test.want {
			t.Errorf("%+v: got a round of %d, want %d", test.due, got, test.want)
		}
	}
}

// TestTheFirstCheckThatTimesOutIsTheLast: a server that does not answer costs one time limit.
func TestTheFirstCheckThatTimesOutIsTheLast(t *testing.T) {
	s := &subject.Subject{Name: "x", Workloads: []string{"sink"}, RunCmd: []string{"x", "{addr}"}}
	ran := 0
	fails := func(err error) func(*Bench) {
		return func(*Bench) { ran++; Failf("answer: %w", err) }
	}
	for _, test := range []struct {
		what  string
		first error
		only  []string
		ran   int
	}{
		{"a time limit", ErrTimeout, nil, 1},
		{"a wrong answer", ErrEnded, nil, 3},
		{"a time limit in another check", ErrTimeout, []string{"b", "c"}, 2},
	} {
		ran = 0
		k := Kind{Workloads: []string{"sink"}, Checks: []Check{
			{Name: "a", NoServer: true, Run: fails(test.first)}, {Name: "b", NoServer: true, Run: fails(ErrTimeout)}, {Name: "c", NoServer: true, Run: fails(ErrTimeout)},
		}}
		found := Run(t.Context(), s, []Kind{k}, Options{Hosts: []string{"127.0.0.1"}, Only: test.only})
		if ran != test.ran || len(found) < ran || ran == 1 && (len(found) != 3 || found[2].Skipped == "") {
			t.Errorf("%s: got %d checks run and %+v, want %d run", test.what, ran, found, test.ran)
		}
	}
}
