package report

import (
	"strings"
	"testing"

	"weir/lab/report/reporttest"
	"weir/lab/result"
)

// TestReportsSayWhatEachAgentDid: its cores and version, its share of the messages, how well its
// clock is known, and how late it started. Rejected trials do not count.
func TestReportsSayWhatEachAgentDid(t *testing.T) {
	r := reporttest.Quick()
	r.Plan.Agents, r.Plan.LoadCPUs = 2, []int{}
	r.Subjects[0].Beside = true
	r.Agents = []result.Agent{{Name: "left", Version: "v1", Cores: 4}, {Name: "right", Version: "v1", Cores: 16, SameMachine: true},
		{Name: "late", Version: "v1", Cores: 1}, {Name: "close", Version: "v1", Cores: 2, Beside: r.Subjects[0].Name}}
	for i := range r.Trials {
		x := &r.Trials[i]
		n := x.Messages / 4
		x.Agents = []result.AgentShare{{Agent: "left", Connections: 16, Messages: n, ClockOffsetUS: 1500, ClockBoundUS: 40, StartedLateUS: 200},
			{Agent: "right", Connections: 48, Messages: x.Messages - n, ClockOffsetUS: -3e6, ClockBoundUS: 55, StartedLateUS: -300}}
		if !x.Accepted {
			x.Agents[0].ClockBoundUS = 9999
		}
	}
	text := markdownOf(t, r)
	for _, want := range []string{
		"| left | 4 | v1 | 16 |", "| 25.0 % | 1.50 | 40.0 | 0.200 |",
		"| right (on the lab's machine) | 16 | v1 | 48 |", "| 75.0 % | -3,000 | 55.0 | -0.300 |",
		"| late | 1 | v1 |", "beside " + r.Subjects[0].Name, "that of 2 agents: left, right, late", "CPU measured by an agent beside it", "Agents start a window together",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if t.Failed() {
		_, table, _ := strings.Cut(text, "Agents, which")
		t.Logf("got the table %.1500s", table)
	}
}

func TestReportsWithoutAgentsHaveNoTableOfThem(t *testing.T) {
	if text := markdownOf(t, reporttest.Quick()); strings.Contains(text, "Agents") {
		t.Error("got a table of agents, want none")
	}
}
