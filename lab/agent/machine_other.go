//go:build !linux

package agent

func machineID() string { return "" }
