package main

import (
	"testing"

	"go.uber.org/goleak"
)

// What the program does is tested as the other subjects are, by the contract.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
