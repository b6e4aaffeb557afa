package streamload

import (
	"testing"

	"pgregory.net/rapid"
)

func TestChurnPlanCountsEarlierConnections(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := churnPlan{rapid.Int64Range(0, 1e15).Draw(t, "start"), 1e9 / rapid.Float64Range(0.001, MaxChurn).Draw(t, "rate")}
		before := p.start + rapid.Int64Range(-1e9, 1e12).Draw(t, "before")
		n := p.number(before)
		if n < 0 || p.due(n) < before || n > 0 && p.due(n-1) >= before {
			t.Fatalf("got %d connections due before %d, with the last due at %d and the next at %d; want the last before it and the next not", n, before, p.due(n-1), p.due(n))
		}
	})
}
