// Package backup copies a chat's data directory, while servers use it, to a folder or a tar file,
// and restores such a copy.
//
// A room's log is copied up to COMMITTED as it is when the copy reaches the room. It is read line
// by line, validated, without a lock. Locks, the files "committed", damaged segments set aside by
// Repair, and the search index are not copied. Files that are replaced as a whole (accounts, bans,
// read markers) are copied as they are. The order keeps the copy consistent:
//
//   - Read markers come first and rooms last, so no marker is behind the end of its room.
//   - Invites come before accounts, so no code can be used twice.
//   - Uploads come at the end, so every link in a message has its file.
//
// The file SHA256SUMS in the copy has the checksum of every other file, in the format of sha256sum
// -c. Create reads everything back and compares the checksums before it gives the copy its name. So
// a copy with that name is complete. Restore compares them, too, checks every line, and installs
// the directory by one rename. A folder may also be copied back by hand, with its modes (cp -a).
//
// Limitations: each room is copied at a moment of its own, a little later than the one before.
// Files are owned by the user that makes or restores a copy. There are only full copies. A copy
// contains everything that the chat has, readable, and needs the same protection. Symbolic links,
// sockets and files whose names start with a dot are not copied.
package backup
