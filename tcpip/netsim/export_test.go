package netsim

// Difference is what Repeat reports.
var Difference = difference

// Raced is raced, for tests of package netsim_test.
const Raced = raced
