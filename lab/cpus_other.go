//go:build !linux

package lab

import "errors"

func allowedCPUs() ([]int, error) { return nil, errors.New("lab: experiments run on Linux only") }
