//go:build !linux

package serve

import (
	"errors"
	"os"
)

func sendFile(kernelWriter, *os.File, int64, int64) (int64, error) {
	return 0, errors.ErrUnsupported
}

func splice(kernelWriter, SpliceSource, int64) (int64, error) {
	return 0, errors.ErrUnsupported
}
