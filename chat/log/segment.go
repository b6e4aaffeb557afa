package log

import "fmt"

// segmentName is the file of the segment that begins at an offset.
func segmentName(base int64) string { return fmt.Sprintf("%020d.log", base) }
