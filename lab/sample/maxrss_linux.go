package sample

import "syscall"

// maxRSS is in bytes; Linux counts kilobytes.
func maxRSS(ru *syscall.Rusage) int64 { return int64(ru.Maxrss) << 10 }
