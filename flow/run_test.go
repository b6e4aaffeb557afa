package flow

import (
	"slices"
	"testing"
)

func TestItemsPutBetweenStartAndStopPassThrough(t *testing.T) {
	eachModel(t, func(t *testing.T, way Way) {
		var out []int
		stages := []Stage[int]{{Name: "a", Do: func(in []int, _ *Out[int]) { out = append(out, in...) }}}
		n, err := New(stages, []Edge{{To: "a"}}, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Stop(); err != nil || n.Put([]int{0}) != 0 {
			t.Errorf("before Start: got error %v from Stop, or Put accepted an item; want nil and no item", err)
		}
		if err := n.Start(way); err != nil {
			t.Fatal(err)
		}
		if n.Put([]int{1}) != 1 || n.Start(way) == nil {
			t.Error("Put accepted no item, or a second Start succeeded; want a net that runs once")
		}
		for range 2 {
			if err := n.Stop(); err != nil || n.Put([]int{2}) != 0 {
				t.Errorf("after Stop: got error %v from Stop, or Put accepted an item; want nil and no item", err)
			}
		}
		if !slices.Equal(out, []int{1}) {
			t.Errorf("%v came out, want [1]", out)
		}
	})
}
