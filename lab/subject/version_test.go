package subject

import "testing"

// TestDescribeAsksForTheVersion: the first line that the version command prints is the subject's,
// and a command that fails tells nothing.
func TestDescribeAsksForTheVersion(t *testing.T) {
	for line, want := range map[string]string{
		`dependencies = 0`: "",
		`version = ["sh", "-c", "echo; echo Machine 25.0.1; echo more"]`: "Machine 25.0.1",
		`version = ["sh", "-c", "echo Machine 25.0.1; exit 1"]`:          "",
		`version = ["a-command-that-is-not-there"]`:                      "",
	} {
		if got := scratch(t, "plain", line).Describe().Version; got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
