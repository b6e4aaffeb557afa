//go:build !linux

package workload

import "errors"

func allowedCPUs() ([]int, error) { return nil, errors.New("lab: experiments run on Linux only") }
