package load

import "testing"

func TestCommandsAreParsedOrRejected(t *testing.T) {
	for line, want := range map[string]string{
		"measure 2s": "2s", " measure 500ms ": "500ms", "stop": "0s",
		"measure": "", "measure 0s": "", "measure -1s": "", "measure 25h": "", "measure 2": "", "stop now": "", "": "", "MEASURE 2s": "",
	} {
		cmd, err := ParseCommand(line)
		if (err == nil) != (want != "") || err == nil && cmd.Measure.String() != want {
			t.Errorf("%q: got %v, %v; want %q", line, cmd, err, want)
		}
	}
}

func FuzzCommand(f *testing.F) {
	f.Add("measure 2s")
	f.Add("stop")
	f.Fuzz(func(t *testing.T, line string) {
		cmd, err := ParseCommand(line)
		if err != nil || cmd.Measure == 0 {
			return
		}
		if again, err := ParseCommand("measure " + cmd.Measure.String()); err != nil || again != cmd {
			t.Errorf("%q: got %v, and %v, error %v after formatting and parsing again; want the same", line, cmd, again, err)
		}
	})
}
