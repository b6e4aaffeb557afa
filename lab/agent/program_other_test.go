//go:build !linux

package agent

// runProgram does nothing: the programs of the tests need Linux.
func runProgram(string, []string) {}
