// Package files is the source that answers with the files of a directory.
//
// # What is served
//
// The path of a request names a file below the directory, and nothing else: no spelling (../,
// backslash, NUL) and no symbolic link leads out of it, which [os.Root] sees to at each opening.
// Names that begin with a dot are not there unless asked for, but for /.well-known/ (RFC 8615). A
// directory is answered by its index file or, if so configured, by a list of what is in it; without
// a slash at its end it redirects to that. Only regular files are served. The core answers
// conditions and ranges.
//
// # Small files: the cache
//
// A small file is kept in memory with its fields ready, and looked at again (by stat) once a
// second: a file that has changed is answered as it is now a second later at the latest. It is read
// whole between two equal stats, and twice where it has changed in the last two seconds, since the
// clock of file systems is too coarse to tell then: what is answered is what the file held at one
// moment, never a mix of two. A file that changes all the time it is read is answered by 503.
//
// # Entity tags
//
// They are strong. That of a small file is made of its content. That of a large one is made of
// size, times of last modification and change, inode and device: it does not survive a move to
// another machine. Because two changes can fall between two ticks of the file system's clock, a
// large file that was changed in the last two seconds gets a tag of its own with each response,
// which no later one has.
//
// # Large files
//
// They are sent by the kernel from a descriptor opened for the request. A file that is replaced by
// another (rename) is sent as it was opened. One that becomes shorter, or whose size or time of
// modification has changed when all but its last piece is sent, breaks the connection: the client
// sees that it has not got the whole. So replace files, do not write into them.
//
// # Precompressed siblings
//
// Beside page.html, page.html.br, .zst and .gz are answered to clients that accept the coding, if
// they are not older than page.html itself.
//
// # Limitations
//
// A folder can be protected by its path, a single file cannot, as it has other names: an index file
// that of its folder, a precompressed sibling its own. A file system that ignores case has more.
// Serve what is private from a folder of its own.
//
// What is written through a shared mapping is seen when the kernel dates it, which may take half a
// minute. What the kernel has queued of a large file but not yet put on the wire is the file's own
// pages: one that is overwritten in place during its last moments can still give a mix. A
// compressed sibling is not checked against its original. Content types are those of names.
package files
