// Package runcheck tests the directory that a run of the lab leaves: that every file of the report
// is there, and that results.json has what others may rely on. It reads JSON by name and not
// through the lab's own types, so that a field that was renamed by accident shows.
//
// Its test of a real run needs one: WEIR_RUN=DIR go test -run TestRun ./internal/runcheck.
//
// Limitations: it checks that the figures are possible, not that they are right; pictures are not
// looked at.
package runcheck
