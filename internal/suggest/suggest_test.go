package suggest

import "testing"

func TestTheNearestNameIsSuggested(t *testing.T) {
	names := []string{"c-epoll", "c-fork", "go-loop", "im", "web"}
	for word, want := range map[string]string{
		"c-epol": "c-epoll", "C-Fork": "c-fork", "goloop": "go-loop", "imm": "im", "wbe": "", "nobody": "", "": "", "x": "",
	} {
		if got := Nearest(word, names); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
	if got := DidYouMean("c-epol", names); got != `; did you mean "c-epoll"?` {
		t.Errorf("got %q, want the nearest name c-epoll as a question", got)
	}
}
