package gate

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestNeighboursAreOfBothVersions draws many orders, and counts them: two places of two neighbours,
// two subjects of each version, and two orders of the neighbours make 16.
func TestNeighboursAreOfBothVersions(t *testing.T) {
	const draws = 16_000
	r, seen := rand.New(rand.NewPCG(1, 2)), map[string]int{}
	for range draws {
		order := []string{baseName, headName, baseName + againSuffix, headName + againSuffix}
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		alternate(r, order)
		for i := 0; i < len(order); i += 2 {
			if strings.HasPrefix(order[i], headName) == strings.HasPrefix(order[i+1], headName) {
				t.Fatalf("got the order %s, want one of each version in each half", order)
			}
		}
		seen[strings.Join(order, " ")]++
	}
	if len(seen) != 16 {
		t.Fatalf("got %d orders, want 16: %v", len(seen), seen)
	}
	for order, n := range seen {
		if n < draws/16*8/10 || n > draws/16*12/10 {
			t.Errorf("%s: got %d of %d draws, want about a sixteenth", order, n, draws)
		}
	}
}

func TestWithoutBaseEveryOrderRemains(t *testing.T) {
	order := []string{headName + againSuffix, headName}
	alternate(rand.New(rand.NewPCG(1, 2)), order)
	if !slices.Equal(order, []string{headName + againSuffix, headName}) {
		t.Errorf("got %s, want the order as it was", order)
	}
}
