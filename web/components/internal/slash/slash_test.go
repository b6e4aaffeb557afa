package slash

import "testing"

func TestLocationAddsTheSlash(t *testing.T) {
	for target, want := range map[string]string{
		"/sub": "./sub/", "/a/sub": "./sub/", "/sub?a=b&c": "./sub/?a=b&c", "/a%20b": "./a%20b/", "/a:b": "./a:b/", "//other": "./other/", "/sub?": "./sub/?",
		"/sub/": "", "/": "", "/sub/?a=/b": "",
	} {
		if got, ok := Location(target); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", target, got, ok, want)
		}
	}
}
