package draw

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"weir/flow"
)

const response = "response"

func net(edges ...[2]string) flow.Topology {
	var t flow.Topology
	known := map[string]bool{flow.Entry: true}
	for _, e := range edges {
		for _, name := range e {
			if !known[name] {
				known[name] = true
				t.Stages = append(t.Stages, flow.StageStats{Name: name})
			}
		}
		edge := flow.Edge{From: e[0], To: e[1]}
		if edge.To == response {
			edge.Port = -1
		}
		t.Edges = append(t.Edges, flow.EdgeStats{Edge: edge})
	}
	return t
}

func TestAChainIsALine(t *testing.T) {
	l := ComputeLayout(net([2]string{"", "a"}, [2]string{"a", "b"}, [2]string{"b", response}))
	for i, s := range l.Nodes {
		if s.Layer != i || s.Row != 0 {
			t.Errorf("node %d is at %+v, want layer %d, row 0", i, s, i)
		}
	}
	if l.Exit != 3 || l.Layers != 4 || len(l.Links) != 3 {
		t.Errorf("got %+v, want exit 3, 4 layers and 3 links", l)
	}
	if l := ComputeLayout(net([2]string{"", "a"})); l.Exit != -1 {
		t.Errorf("got exit %d without an edge from port -1, want -1", l.Exit)
	}
}

func TestABranchStandsBetweenItsArms(t *testing.T) {
	l := ComputeLayout(net([2]string{"", "b"}, [2]string{"b", "x"}, [2]string{"b", "y"}, [2]string{"x", "end"}, [2]string{"y", "end"}))
	b, x, y, end := l.Nodes[1], l.Nodes[2], l.Nodes[3], l.Nodes[4]
	if x.Layer != y.Layer || math.Abs(x.Row-y.Row) != 1 || b.Row != 0 || end.Row != 0 {
		t.Errorf("got %+v, want x and y one row apart in a layer, the others in row 0", l.Nodes)
	}
}

func TestALongLinkCrossesLayersBesideTheirStages(t *testing.T) {
	l := ComputeLayout(net([2]string{"", "b"}, [2]string{"b", "x"}, [2]string{"x", "end"}, [2]string{"b", "end"}))
	long := l.Links[3]
	if len(long.Via) != 1 || long.Via[0].Layer != l.Nodes[2].Layer || math.Abs(long.Via[0].Row-l.Nodes[2].Row) < 1 {
		t.Errorf("the link %+v crosses the stage at %+v, want it a row beside", long, l.Nodes[2])
	}
}

func TestEdgesBetweenTheSameStagesAreOneLink(t *testing.T) {
	l := ComputeLayout(net([2]string{"", "b"}, [2]string{"b", "end"}, [2]string{"b", "end"}))
	if len(l.Links) != 2 || fmt.Sprint(l.Links[1].Edges) != "[1 2]" {
		t.Errorf("got the links %+v, want edges 1 and 2 in one", l.Links)
	}
}

// Nets of all kinds can be drawn, with cycles and unreachable stages.
func TestEveryNetCanBeDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "stages")
		var net flow.Topology
		for i := range n {
			net.Stages = append(net.Stages, flow.StageStats{Name: fmt.Sprint(i)})
		}
		acyclic := true
		if n > 0 {
			net.Edges = append(net.Edges, flow.EdgeStats{Edge: flow.Edge{To: "0"}})
			for range rapid.IntRange(0, 30).Draw(t, "edges") {
				from, to := rapid.IntRange(0, n-1).Draw(t, "from"), rapid.IntRange(0, n-1).Draw(t, "to")
				acyclic = acyclic && from < to
				net.Edges = append(net.Edges, flow.EdgeStats{Edge: flow.Edge{From: fmt.Sprint(from), To: fmt.Sprint(to)}})
			}
		}
		l := ComputeLayout(net)
		if len(l.Nodes) != n+1 {
			t.Fatalf("got %d nodes for %d stages, want one more", len(l.Nodes), n)
		}
		apart(t, l)
		drawn := 0
		for _, link := range l.Links {
			drawn += len(link.Edges)
			from, to := l.Nodes[link.From], l.Nodes[link.To]
			if from.Layer >= to.Layer && acyclic {
				t.Fatalf("link %+v goes back from %+v to %+v, want it forward: the net has no cycle", link, from, to)
			}
			for i, via := range link.Via {
				if via.Layer != from.Layer+1+i || via.Layer >= to.Layer {
					t.Fatalf("link %+v crosses at %+v, want one position for each layer between", link, via)
				}
			}
		}
		if drawn != len(net.Edges) {
			t.Fatalf("%d edges are drawn, want %d", drawn, len(net.Edges))
		}
	})
}

// apart checks that no two positions overlap.
func apart(t *rapid.T, l Layout) {
	rows := map[int][]float64{}
	add := func(s Spot) {
		if s.Layer < 0 || s.Layer >= l.Layers {
			t.Fatalf("position %+v is outside the %d layers, want it within", s, l.Layers)
		}
		for _, row := range rows[s.Layer] {
			if math.Abs(row-s.Row) < 1-1e-9 {
				t.Fatalf("layer %d has rows %v and %v, want a distance of 1 at least", s.Layer, row, s.Row)
			}
		}
		rows[s.Layer] = append(rows[s.Layer], s.Row)
	}
	for _, s := range l.Nodes {
		add(s)
	}
	for _, link := range l.Links {
		for _, s := range link.Via {
			add(s)
		}
	}
}
