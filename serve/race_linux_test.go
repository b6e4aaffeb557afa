//go:build race

package serve

func init() { underRace = true }
