//go:build !race

package netsim_test

const raced = false
