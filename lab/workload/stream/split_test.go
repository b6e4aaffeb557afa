package stream

import (
	"math"
	"testing"

	"weir/lab/load"
	"weir/lab/workload"
)

func TestSharesOfALoadAddUpToIt(t *testing.T) {
	l := &Load{Common: workload.Common{Rate: 10}, Size: 32, Idle: 7, Churn: 10}
	c := workload.Cell{Load: "messages", Connections: 64, Pattern: load.Poisson}
	var v workload.Splitter = session{}
	shares, err := v.Split(l, c, 5)
	if err != nil || len(shares) != 5 {
		t.Fatalf("got %v and error %v, want 5 shares", shares, err)
	}
	connections, idle, churn := 0, 0, 0.0
	for _, s := range shares {
		of := s.Load.(*Load)
		connections, idle, churn = connections+s.Cell.Connections, idle+of.Idle, churn+of.Churn
		if of.Rate != 10 || s.Cell.Pattern != c.Pattern {
			t.Errorf("got the share %+v of %+v, want the same rate on each connection", s.Cell, of)
		}
	}
	if connections != 64 || idle != 7 || math.Abs(churn-10) > 1e-9 || l.Idle != 7 {
		t.Errorf("got %d connections, %d idle and %v short ones a second, want 64, 7 and 10", connections, idle, churn)
	}
}
