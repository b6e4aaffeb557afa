// Package testsize sets the size of long tests: small in make test, large in make soak.
//
// A test that can run for longer (seeds, kills, simulations, bytes) names an environment variable
// and its size without that variable. scripts/soak sets these variables.
//
// Limitations: a size is one whole number. Tests with rapid get longer by rapid's own flag.
package testsize

import (
	"os"
	"strconv"
	"testing"
)

// Of returns the value of the environment variable, a whole number above 0, or quick where it is
// not set. Any other value fails the test.
func Of(t testing.TB, variable string, quick int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return quick
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q: want a whole number above 0", variable, text)
	}
	return n
}
