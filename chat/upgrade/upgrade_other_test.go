//go:build !linux

package upgrade

import (
	"os/exec"
	"testing"
)

func beNew(string) error { return errLinux }

func TestOtherSystemsRefuse(t *testing.T) {
	if _, err := Start(t.Context(), exec.Command("true")); err == nil {
		t.Error("a new process was started")
	}
}
