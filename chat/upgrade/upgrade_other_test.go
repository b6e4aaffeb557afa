//go:build !linux

package upgrade

import (
	"os/exec"
	"testing"
)

func beNew(string) error { return errUnsupported }

func TestUpgradeIsUnsupportedOnOtherSystems(t *testing.T) {
	if _, err := Start(t.Context(), exec.Command("true")); err == nil {
		t.Error("Start: got no error, want that upgrades are not supported")
	}
}
