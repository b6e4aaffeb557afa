package main

import (
	"testing"

	"weir/lab/result"
)

func TestNotesNameTheSubjectUnlessAllShareThem(t *testing.T) {
	found := []result.Portability{
		{Subject: "a", Target: "musl", Note: "not tested: musl-gcc is not installed"},
		{Subject: "b", Target: "musl", Note: "not tested: musl-gcc is not installed"},
		{Subject: "a", Target: "arm", Built: true, Passed: true},
		{Subject: "b", Target: "arm", Built: true, Note: "integrity (sink, ::1): bytes are lost"},
		{Subject: "c", Target: "arm", Note: "x.c:1: error: no"},
	}
	for i, want := range []string{"musl: not tested: musl-gcc is not installed", "musl: not tested: musl-gcc is not installed", "",
		"b, arm: integrity (sink, ::1): bytes are lost", "c, arm: x.c:1: error: no"} {
		if got := noteOn(found[i], found); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if n := failures(found); n != 2 {
		t.Errorf("%d failures, want 2", n)
	}
	for i, want := range []string{"-", "-", "passed", "failed", "not built"} {
		if got := verdict(found[i]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
