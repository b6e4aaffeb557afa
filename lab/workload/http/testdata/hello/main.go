// Hello is an ordinary HTTP server that knows nothing of the lab: its argument is its port.
package main

import (
	"fmt"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL)
		fmt.Fprintln(w, "Hello, world!")
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(":"+os.Args[1], nil))
}
