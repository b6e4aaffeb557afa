package flow

import (
	"encoding/json"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestTopologyIsWrittenAsJSON(t *testing.T) {
	const golden = "testdata/topology.json"
	got, err := json.MarshalIndent(Topology{
		Way:    Network,
		Stages: []StageStats{{Name: "route", Width: 2, Calls: 12, Items: 120, Left: 3, Failed: 1, ServiceNS: 1234.5}},
		Edges: []EdgeStats{
			{Edge: Edge{To: "route", Cap: 16}, Items: 122, Depth: 2},
			{Edge: Edge{From: "route", Port: 1, To: "end", Cap: 4, WhenFull: Refuse}, Items: 110, Dropped: 4, Refused: 5},
		},
	}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("got the JSON\n%s\nwant that of the golden file; if the new one is right, run go test -update", got)
	}
}
