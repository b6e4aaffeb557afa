package draw

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"weir/flow"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("runtime.handleEvent"))
}

// chainTopology is the same net as a chain: nothing waits in a waiting edge.
func chainTopology() flow.Topology {
	t := topology
	t.Way = flow.Chain
	return t
}

// topology has everything that is drawn, and a name that needs quotes.
var topology = flow.Topology{
	Way: flow.Network,
	Stages: []flow.StageStats{
		{Name: "route", Width: 1, Items: 120, Calls: 12, ServiceNS: 1234},
		{Name: `say "hi" #1`, Width: 8, ServiceNS: 56789},
		{Name: "end", Left: 3},
	},
	Edges: []flow.EdgeStats{
		{Edge: flow.Edge{To: "route", Cap: 16}, Items: 120},
		{Edge: flow.Edge{From: "route", To: `say "hi" #1`, Cap: 4, WhenFull: flow.Drop}, Items: 40, Depth: 2, Dropped: 7},
		{Edge: flow.Edge{From: "route", Port: 1, To: "end", Cap: 16, WhenFull: flow.Refuse, Label: "GET /<a>|b"}, Items: 70000, Refused: 3},
		{Edge: flow.Edge{From: `say "hi" #1`, To: "end", Cap: 16}},
	},
}

func TestDrawingsMatchTheGoldenFiles(t *testing.T) {
	for name, got := range map[string]string{"net.dot": DOT(topology), "net.mmd": Mermaid(topology), "net.svg": SVG(topology), "chain.dot": DOT(chainTopology()), "chain.mmd": Mermaid(chainTopology()), "empty.svg": SVG(flow.Topology{}), "empty.dot": DOT(flow.Topology{}), "empty.mmd": Mermaid(flow.Topology{})} {
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got another drawing, want that of the file; if the new one is right, run go test -update:\n%s", golden, got)
		}
	}
}
