// Package rules tests the whole tree: which package may import which, which functions only the
// command may call, that tests check for leaked goroutines, the length of functions and files, the
// language of names, comments, messages and pages, the subjects of commits, and strings that must
// not be in the tree. Each failure names the place and the reason.
//
// The package exports nothing. The tests read the sources as text and syntax, so they check the
// files of every operating system at once. They read the working tree, uncommitted files included.
//
// Limitations: calls are recognised by package and name (os.Exit), so a call through a function
// value is not found. Without git the tests are skipped, because they cannot list the files of the
// tree.
package rules
