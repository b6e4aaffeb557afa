package flow

import (
	"strings"
	"testing"
)

func TestNewRejectsInvalidNets(t *testing.T) {
	pass := Merge[int]()
	a, b := Stage[int]{Name: "a", Do: pass}, Stage[int]{Name: "b", Do: pass}
	for _, c := range []struct {
		why    string
		stages []Stage[int]
		edges  []Edge
	}{
		{"no name", []Stage[int]{{Do: pass}}, line("a")},
		{`two stages are called "a"`, []Stage[int]{a, a}, line("a")},
		{`the stage "a" does nothing`, []Stage[int]{{Name: "a"}}, line("a")},
		{"width of -1", []Stage[int]{{Name: "a", Do: pass, Width: -1}}, line("a")},
		{`leads to "b"`, []Stage[int]{a}, line("a", "b")},
		{`comes from "c"`, []Stage[int]{a}, []Edge{{To: "a"}, {From: "c", To: "a"}}},
		{`two edges leave port 0 of ""`, []Stage[int]{a, b}, []Edge{{To: "a"}, {To: "b"}}},
		{"unknown policy 9", []Stage[int]{a}, []Edge{{To: "a", WhenFull: 9}}},
		{`leads to ""`, []Stage[int]{a}, []Edge{{To: "a"}, {From: "a", To: Entry}}},
		{"has port 64", []Stage[int]{a, b}, []Edge{{To: "a"}, {From: "a", Port: 64, To: "b"}}},
		{"holds -1 batches", []Stage[int]{a}, []Edge{{To: "a", Cap: -1}}},
		{`two edges leave port 0 of "a"`, []Stage[int]{a, b}, append(line("a", "b"), Edge{From: "a", To: "a", WhenFull: Drop})},
		{"no edge begins at the entry", []Stage[int]{a}, nil},
		{`nothing leads to the stage "b"`, []Stage[int]{a, b}, line("a")},
		{"a -> b -> a", []Stage[int]{a, b}, append(line("a", "b"), Edge{From: "b", To: "a"})},
	} {
		if _, err := New(c.stages, c.edges, nil, 0); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("New said %v, want a refusal that says %q", err, c.why)
		}
	}
}

func TestAChainRefusesEveryCycle(t *testing.T) {
	n, err := New([]Stage[int]{{Name: "a", Do: Merge[int]()}}, []Edge{{To: "a"}, {From: "a", To: "a", WhenFull: Drop}}, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Run(t.Context(), Chain); err == nil || !strings.Contains(err.Error(), "a -> a") {
		t.Errorf("Run said %v, want the cycle", err)
	}
}

func TestRunRefusesAnUnknownWay(t *testing.T) {
	n, err := New([]Stage[int]{{Name: "a", Do: Merge[int]()}}, line("a"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Run(t.Context(), "ring"); err == nil || !strings.Contains(err.Error(), `"ring" is no concurrency model`) {
		t.Errorf("Run said %v, want a refusal", err)
	}
}
