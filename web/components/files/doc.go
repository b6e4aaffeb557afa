// Package files is a source that serves the files of a directory.
//
// # What is served
//
// The request path names a file below the directory. No spelling (../, backslash, NUL) and no
// symbolic link leads out of it: [os.Root] checks that each time it opens a file. Names that begin
// with a dot are hidden unless [Config.Dotfiles] is set, except /.well-known/ (RFC 8615).
//
// A directory is answered by its index file or, with [Config.List], by a listing. Without a final
// slash, it redirects to the path with one. Only regular files are served. The core answers
// conditions and ranges.
//
// # A path that names no file
//
// [Config.Fallback] answers for such a path: with the first of several pages that exists, as a
// single-page application needs it, or by passing the request on to the component behind, such as
// PHP by FastCGI. A directory without an
// index file counts as no file, unless it is listed. There is one look-up and no internal redirect,
// so no fallback can loop.
//
// A page has status 200, its own entity tag, and answers GET and HEAD; other methods get 405. A
// request that is passed on keeps method and path, and a file that exists answers other methods
// than GET and HEAD with 405. A name that begins with a dot is answered by 404 as without a
// fallback: it is not passed on.
//
// Access is decided on the request's path, before the files are looked up. The path of a fallback
// page without {path} is matched against no route and no condition, so name a page that every
// client that gets here may see. A page with {path} is skipped if a route or a condition would have
// decided otherwise on its path, or if the request's path was rewritten behind one of them.
//
// Before a component that runs programs of the same directory, the files must not serve these as
// text. While requests are passed on, names of programs are therefore hidden: see [Config.Hide].
//
// # Small files: the cache
//
// Small files are kept in memory with their header fields. A stat once a second finds changes, so a
// changed file is served at most a second later.
//
// A file is read as a whole between two equal stats, and twice if it changed in the last three
// seconds, because file system clocks are coarse. So a response contains what the file contained at
// one moment, never a mix. A file that changes during every read is answered by 503.
//
// # Entity tags
//
// Entity tags are strong. The tag of a small file is a hash of its content. That of a large file is
// a hash of its size, times of modification and change, inode and device; it changes when the file
// moves to another machine.
//
// Two changes can fall into one tick of the file system's clock. A large file that changed in the
// last three seconds therefore gets a new tag with each response.
//
// # Large files
//
// The kernel sends large files (sendfile) from a descriptor that is opened for the request. A file
// that is replaced by rename is sent as it was opened.
//
// A file that was truncated, or whose size or modification time changed before its last piece is
// sent, closes the connection, so that the client sees an incomplete response. Replace files by
// rename instead of writing into them.
//
// # Precompressed siblings
//
// page.html.br, page.html.zst and page.html.gz are served in place of page.html to clients that
// accept the coding, if they are not older than page.html.
//
// # Limitations
//
// A rule on a path can protect a directory, but not a single file, because a file has other names.
// An index file has that of its directory, and a precompressed sibling has its own. A file system
// that ignores case has more. Put private files into a directory of their own.
//
// Writes through a shared mapping are found when the kernel updates the file's times, which may
// take half a minute. Data of a large file that the kernel has queued but not sent are the file's
// own pages: overwriting it in place during its last moments can still mix content.
//
// A precompressed sibling is not compared with its original. Content types are derived from names.
package files
