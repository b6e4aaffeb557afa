// Package http is the workload of HTTP requests: for one page, for files, or for files by way of a
// proxy.
//
// # Limitations
//
// HTTP/1.1 only. A slow server passes the contract: nothing is measured here.
package http
