package subject

import "testing"

// TestDescribeRunsTheVersionCommand: the version is the first line that the command prints, or
// empty if it fails.
func TestDescribeRunsTheVersionCommand(t *testing.T) {
	for line, want := range map[string]string{
		`dependencies = 0`: "",
		`version = ["sh", "-c", "echo; echo Machine 25.0.1; echo more"]`: "Machine 25.0.1",
		`version = ["sh", "-c", "echo Machine 25.0.1; exit 1"]`:          "",
		`version = ["a-command-that-is-not-there"]`:                      "",
	} {
		if got := scratch(t, "plain", line).Describe().Version; got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}
