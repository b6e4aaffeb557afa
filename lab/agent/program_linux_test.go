package agent

// runProgram runs a program of the tests, if name is that of one. It does not return then.
func runProgram(name string, args []string) {
	switch {
	case name == "count" && len(args) == 2:
		countBytes(args[0], args[1])
	case name == "slow-clock" && len(args) == 6:
		serveSlowClock(args)
	}
}
