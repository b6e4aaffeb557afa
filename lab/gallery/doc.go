// Package gallery collects many runs of the lab on one page: machines, kernels and versions side by
// side, and each cell (a subject under a load, a number of connections and an arrival pattern) with
// its figure in every run.
//
// Read reads the results of runs, also of several machines. New collects them. HTML is one offline
// page that filters and sorts without a server; Markdown has the same tables.
//
// Equal names of loads must mean equal loads. A run whose load differs from that of an earlier run
// with the same workload and name is left out, with the reason. So is a file that cannot be read.
//
// # Limitations
//
// A figure's interval is of its own run. Runs are not interleaved, so the gallery claims no order
// between them: weir lab compare does. Shares of capacity are not shown. At most [MaxRuns] runs,
// [MaxRows] rows and [MaxCells] figures of a table are shown, and [MaxProblems] runs that cannot be
// read are named.
package gallery
