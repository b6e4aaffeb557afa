// Package backup copies a chat's data directory while a server is at work on it, into a folder or
// one tar file, and brings such a copy back.
//
// A room's log is copied to what was committed when its turn came: a prefix of its history, checked
// line by line as it is read, without a lock. What is not for a copy stays behind: locks,
// "committed", what a repair set aside, the search index. Files that are replaced as a whole
// (accounts, bans, marks) are copied as they are. Read marks go first and rooms last, so that no
// mark points behind the end of its room; invites go before accounts, so that no code opens two;
// uploads go at the end, so that every link in a message leads somewhere.
//
// SHA256SUMS in the copy has the sum of every other file, in the form that sha256sum -c reads.
// Create reads all that it has written again and compares; it takes its name only then, so what has
// the name is whole. Restore compares too, reads every line's checksum, and puts the directory in
// its place by one rename. A folder may as well be copied back by hand, with its modes (cp -a): a
// server takes it as it is.
//
// Limitations: each room is of its own moment, a little later than the one before. Files belong to
// whoever makes or restores a copy. There are full copies only. A copy holds everything that the
// chat does, readable: keep it as safe. Symbolic links, sockets and files whose names begin with a
// dot are not copied.
package backup
