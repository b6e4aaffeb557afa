package tag

import "testing"

func TestOfHashesTheContent(t *testing.T) {
	a, b := Of([]byte("a")), Of([]byte("b"))
	if a == b || a != Of([]byte("a")) || !Strong(a) || a != `"ypeBEsobvcr6wjGzmiPcTQ"` {
		t.Errorf("got tags %s and %s, want different strong ones, the first \"ypeBEsobvcr6wjGzmiPcTQ\" in quotes", a, b)
	}
}

func TestStrongAcceptsOnlyStrongTags(t *testing.T) {
	for s, want := range map[string]bool{`"a"`: true, `W/"a"`: false, "": false, `"`: false, `""`: false, "a": false, `"a`: false} {
		if Strong(s) != want {
			t.Errorf("%s: got %v, want %v", s, !want, want)
		}
	}
}
