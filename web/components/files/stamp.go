package files

import (
	"io/fs"
	"time"
)

// stamp is what the file system says of a file. A file that has changed has another stamp, if the
// clock of the file system has gone on between: see settled.
type stamp struct {
	// bytes; Unix time in nanoseconds; changed is 0 where that is not known
	size, modified, changed int64
	inode, device           uint64
}

// settling is after how long a change must have another time than one before: the coarsest clock,
// that of FAT, has ticks of 2 s.
const settling = 3 * time.Second

// settled says whether each later change shows in the stamp. A time in the future never settles.
func (s stamp) settled(now time.Time) bool {
	return now.UnixNano()-max(s.modified, s.changed) >= int64(settling)
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
