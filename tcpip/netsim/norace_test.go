//go:build !race

package netsim

const raced = false
