// Package runcheck tests the directory that a run of the lab leaves: that every file of the report
// exists, and that results.json has the fields that other programs rely on. It reads JSON by name
// and not through the lab's own types, so that a field renamed by accident is found.
//
// Its test of a real run needs one: WEIR_RUN=DIR go test -run TestRun ./internal/runcheck.
//
// Limitations: it checks that the figures are possible, not that they are right; it does not check
// pictures.
package runcheck
