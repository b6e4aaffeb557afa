// Package api lists what the libraries of this project export, so that a change of it is noticed.
// The package exports nothing; its test compares the lists with the sources.
//
// Limitations: constants without a value of their own (iota) are listed by name only. Declarations
// for other systems than Linux are not listed.
package api
