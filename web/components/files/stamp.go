package files

import (
	"io/fs"
	"time"
)

// stamp identifies one state of a file. A changed file has another stamp, unless both changes fall
// into one tick of the file system's clock: see isReliable.
type stamp struct {
	// bytes; Unix times in nanoseconds; changed (ctime) is 0 where the system does not report it
	size, modified, changed int64
	inode, device           uint64
}

// clockTick is longer than a tick of any file system's clock. The coarsest, FAT's, ticks every 2 s.
const clockTick = 3 * time.Second

// isReliable reports whether every later change will change the stamp. A stamp from the future is
// never reliable.
func (s stamp) isReliable(now time.Time) bool {
	return now.UnixNano()-max(s.modified, s.changed) >= int64(clockTick)
}

func stampOf(file interface{ Stat() (fs.FileInfo, error) }) (stamp, error) {
	info, err := file.Stat()
	if err != nil {
		return stamp{}, err
	}
	return newStamp(info), nil
}

func newStamp(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), modified: info.ModTime().UnixNano()}
	s.identify(info)
	return s
}
