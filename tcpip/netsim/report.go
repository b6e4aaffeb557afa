package netsim

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// writeReport writes the report of a failed world, and returns its folder.
func writeReport(t *testing.T, w *World) (dir string, err error) {
	dir = filepath.Join(os.TempDir(), "netsim", strings.ReplaceAll(t.Name(), "/", "_"), "seed-"+strconv.FormatUint(w.seed, 10))
	return dir, os.MkdirAll(dir, 0o755)
}
