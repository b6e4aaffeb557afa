// Package rules holds what must stay true of the whole tree, as tests: which package may import
// which and why, what only the command may do, that no goroutine outlives a test, how long a
// function and a file may grow, and what must never stand in the tree. Each failure names the place
// and the reason.
//
// There is nothing here to import. The rules read the sources as text and syntax, so they hold for
// every operating system's files at once, and they see the working tree, uncommitted files
// included.
//
// Limitations: calls are recognised by package and name (os.Exit), so a function value that was
// passed around is not seen; without git the tests are skipped, because what belongs to the tree is
// then unknown.
package rules
