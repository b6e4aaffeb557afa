package netsim

// Difference is what Repeat reports.
var Difference = difference
