// Hello is an ordinary HTTP server that knows nothing of the lab: its arguments are its port, and
// for TLS the files of a certificate and its key. It speaks HTTP/1.1, and HTTP/2 unless the last
// argument is "old".
package main

import (
	"fmt"
	"net/http"
	"os"
)

func main() {
	args, protocols := os.Args[1:], new(http.Protocols)
	old := args[len(args)-1] == "old"
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(!old)
	protocols.SetUnencryptedHTTP2(!old)
	http.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL)
		fmt.Fprintln(w, "Hello, world!")
	})
	server := &http.Server{Addr: ":" + args[0], Protocols: protocols}
	if len(args) > 2 {
		fmt.Fprintln(os.Stderr, server.ListenAndServeTLS(args[1], args[2]))
	} else {
		fmt.Fprintln(os.Stderr, server.ListenAndServe())
	}
}
