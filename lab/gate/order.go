package gate

import (
	"math/rand/v2"
	"strings"
)

// alternate orders the subjects of a block such that the first two are one of BASE and one of HEAD,
// and so the next two. On a machine whose speed changes from second to second, a block of
// neighbours has less noise than one whose order begins with both subjects of one version. All
// orders of that kind are equally likely. It leaves the subjects of a gate without BASE in their
// random order.
func alternate(r *rand.Rand, subjects []string) {
	var base, head []string
	for _, s := range subjects {
		if strings.HasPrefix(s, headName) {
			head = append(head, s)
		} else {
			base = append(base, s)
		}
	}
	if len(base) != len(head) {
		return
	}
	for i := range base {
		first := 2*i + r.IntN(2)
		subjects[first], subjects[4*i+1-first] = base[i], head[i]
	}
}
