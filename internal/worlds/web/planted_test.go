package web_test

import (
	"fmt"
	"os"

	"weir/tcpip/netsim"
)

// stopIfPlanted ends the program when a world has failed, if package planted runs it: that a
// planted bug is found is all that it wants to know.
func stopIfPlanted(w *netsim.World) {
	if w.Failed() && os.Getenv("WEIR_WORLDS_PLANTED") != "" {
		fmt.Printf("found by seed %d\n", w.Seed())
		os.Exit(1)
	}
}
