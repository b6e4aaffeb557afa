package docs

import (
	"os"
	"strings"
	"testing"
)

// The functions of test-in-a-virtual-network.md are those of a test that runs.
func TestTheFunctionsOfTheVirtualNetworkAreTested(t *testing.T) {
	source, err := os.ReadFile("../tcpip/netsim/retry_test.go")
	if err != nil {
		t.Fatal(err)
	}
	functions := 0
	for _, b := range blocks(t, "test-in-a-virtual-network.md") {
		if b.kind != "go" {
			continue
		}
		functions++
		if !strings.Contains(string(source), "\n"+b.text) {
			t.Errorf("tcpip/netsim/retry_test.go does not have this function of the page:\n%s", b.text)
		}
	}
	if functions != 3 {
		t.Errorf("got %d functions on the page, want 3", functions)
	}
}
