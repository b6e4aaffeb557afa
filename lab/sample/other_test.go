//go:build !linux

package sample

func runProgram(string) {}
