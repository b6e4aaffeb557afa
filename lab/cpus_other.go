//go:build !linux

package lab

import (
	"errors"
	"time"
)

func allowedCPUs() ([]int, error) { return nil, errors.New("lab: experiments run on Linux only") }

func ownCPU() time.Duration { return 0 }
