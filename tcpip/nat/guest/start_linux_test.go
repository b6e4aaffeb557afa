package guest

import (
	"os"
	"strings"
	"testing"
)

// The error of a helper that ends early says how it has ended.
func TestAHelperThatEndsEarlyIsReported(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("making namespaces needs root here")
	}
	for script, want := range map[string]string{"exit 3": "exit status 3", "kill -9 $$": "signal: killed", "exec 3<&-; sleep 0.1; exit 4": "exit status 4"} {
		_, err := Start(t.Context(), []string{"sh", "-c", script}, Config{Device: "weir0", Command: []string{"true"}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got the error %v, want one with %q", script, err, want)
		}
	}
}

func TestTheEndOfAProcessIsNoticed(t *testing.T) {
	if _, err := Ended(t.Context(), 1<<22+1); err == nil {
		t.Error("a process that does not exist: got no error, want one")
	}
	ended, err := Ended(t.Context(), os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
		t.Error("the end of this process was noticed, want it running")
	default:
	}
}
