package report

import (
	"fmt"
	"math"
	"strings"

	"weir/lab/report/format"
	"weir/lab/result"
)

// agentsTable describes the machines that offered the load together; empty if there are none. The
// figures are of the accepted trials.
func (d *Digest) agentsTable() *Table {
	t := &Table{Caption: "Agents, which offered the load together", Align: "lrlrrrrrr",
		Head: []string{"Agent", "Cores", "Weir", "Connections", "Messages", "Share", "Clock ahead, ms", "Known to, µs", "Latest start, ms"}}
	all := int64(0)
	for i := range d.Trials {
		if d.Trials[i].Accepted {
			all += d.Trials[i].Messages
		}
	}
	for _, a := range d.Agents {
		name := a.Name
		if a.SameMachine {
			name += " (on the lab's machine)"
		}
		if a.Beside != "" {
			t.Add(name, format.Count(a.Cores), a.Version, "beside "+a.Beside, "", "", "", "", "")
			continue
		}
		s := d.sharesOf(a.Name)
		if s.trials == 0 {
			t.Add(name, format.Count(a.Cores), a.Version, "", "", "", "", "", "")
			continue
		}
		t.Add(name, format.Count(a.Cores), a.Version, s.connections(), format.Count(int(s.messages)), format.Percent(float64(s.messages)/float64(max(all, 1))),
			format.Sig(s.offset/1e3), format.Sig(s.bound), format.Sig(s.late/1e3))
	}
	return t
}

// shares sums up what an agent did in the accepted trials.
type shares struct {
	trials, fewest, most int // of connections
	messages             int64
	offset               float64 // us; of the last trial
	bound, late          float64 // us; the largest
}

func (d *Digest) sharesOf(agent string) (s shares) {
	for i := range d.Trials {
		if !d.Trials[i].Accepted {
			continue
		}
		for _, a := range d.Trials[i].Agents {
			if a.Agent == agent {
				s.add(a)
			}
		}
	}
	return s
}

func (s *shares) add(a result.AgentShare) {
	if s.trials == 0 {
		s.fewest = a.Connections
	}
	s.trials++
	s.fewest, s.most = min(s.fewest, a.Connections), max(s.most, a.Connections)
	s.messages += a.Messages
	s.offset = a.ClockOffsetUS
	s.bound = max(s.bound, a.ClockBoundUS)
	if math.Abs(a.StartedLateUS) > math.Abs(s.late) {
		s.late = a.StartedLateUS
	}
}

// connections returns the number of connections, or its range.
func (s *shares) connections() string {
	if s.fewest == s.most {
		return format.Count(s.most)
	}
	return fmt.Sprintf("%s to %s", format.Count(s.fewest), format.Count(s.most))
}

// agentNames lists the agents that offered load.
func (d *Digest) agentNames() string {
	var names []string
	for _, a := range d.Agents {
		if a.Beside == "" {
			names = append(names, a.Name)
		}
	}
	return strings.Join(names, ", ")
}
