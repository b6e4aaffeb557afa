// Package site reads site files: a server as a text that reads like the drawing of what it does.
// The language is HCL.
//
// A pipeline is a list of blocks, each a component, in the order in which an exchange passes them.
// The file itself is a pipeline, and so is each block that has components inside:
//
//	server { listen = ":8080" }
//
//	log { file = "access.log" }
//
//	route "/" {
//	  files { dir = "www" }
//	}
//	route "/js/" {
//	  files    { dir = "js" }
//	  compress {}
//	}
//
// The routes of a pipeline are one branch of it, with the patterns of net/http's ServeMux, matched
// on the canonical path and host; what fits none goes on behind them. [Kinds] lists the components.
// A block's label is its name in drawings.
//
// [Load] reads and checks a file. [Live] serves one, and changes to what the file says when it
// changes.
//
// A component that holds something (counts of a limit, a cache, what is known of upstreams) goes on
// with it when the file is read again, as long as its block says the same in the same place: see
// ADR 0013.
//
// # Limitations
//
// A file has no variables and includes no other. Secrets are not written in it: it names files that
// hold them. Paths are relative to the working directory of the process.
package site
