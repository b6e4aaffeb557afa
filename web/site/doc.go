// Package site reads site files: a web server described by a text that has the structure of its
// drawing. The language is HCL.
//
// A pipeline is a list of blocks, each a component, in the order in which an exchange passes them.
// The file itself is a pipeline, and so is each block that contains components:
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
// The routes of a pipeline are one branch of it. They have the patterns of net/http's ServeMux,
// which are matched on the canonical path and host. A request that matches none continues behind
// the routes. [Kinds] lists the components. A block's label is its name in drawings.
//
// A file may have several servers, for example one that redirects to another. Each then has a name,
// and its pipeline inside:
//
//	server "plain" {
//	  listen = ":80"
//	  redirect { https = true }
//	}
//	server "site" {
//	  listen = ":443"
//	  tls {
//	    cert = "example.org.crt"
//	    key  = "example.org.key"
//	  }
//	  files { dir = "www" }
//	}
//
// Hosts on one address are routes of one server, such as route "example.org/".
//
// A file may have variables and include others:
//
//	variable "port" { default = 8080 }
//	server { listen = ":${var.port}" }
//	include "common.hcl" {}
//
// An include stands for the blocks of its file, wherever blocks stand. The values of variables may
// come from outside, see [Values]. Errors and events do not show these.
//
// [Load] reads and checks a file. [Live] serves one, and reloads it when it changes.
//
// A component with state (the counts of a limit, a cache, the health of upstreams) keeps it across
// reloads as long as its block has the same content in the same place: see ADR 0013.
//
// # Limitations
//
// A reload neither adds nor removes servers, nor changes their addresses: that takes a restart.
//
// A file contains no secrets: it names files that do, or environment variables. The names of files
// and of components are no expressions. Paths are relative to the working directory of the process;
// only those of includes are relative to the file that includes.
package site
