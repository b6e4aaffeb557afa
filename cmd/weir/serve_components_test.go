package main

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"weir/web/site/reference"
)

func TestServeComponentsListsAndExplains(t *testing.T) {
	weir := binary(t)
	output := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(weir, append([]string{"serve", "components"}, args...)...).Output()
		if err != nil {
			t.Fatalf("weir serve components %q: got %v, want exit status 0", args, err)
		}
		return string(out)
	}
	list := output()
	for _, name := range reference.Names() {
		if !strings.Contains(list, "\n  "+name+" ") {
			t.Errorf("weir serve components: want %s in the list, got\n%s", name, list)
		}
	}
	explained := output("limit_rate")
	for _, want := range []string{"\nAttributes:\n  rate\n", "required", "      The number of requests in each per", `default: "1s"`, "\nExample:\n", "limit_rate {"} {
		if !strings.Contains(explained, want) {
			t.Errorf("the explanation of limit_rate does not have %q:\n%s", want, explained)
		}
	}
	var one reference.Block
	if err := json.Unmarshal([]byte(output("limit_rate", "--json")), &one); err != nil || one.Name != "limit_rate" || one.Attributes[1].Default != `"1s"` {
		t.Errorf("got %+v, %v; want limit_rate, with the default of per", one, err)
	}
	var all []reference.Block
	if err := json.Unmarshal([]byte(output("--json")), &all); err != nil || len(all) != len(reference.Names()) {
		t.Errorf("got %d blocks, %v; want %d", len(all), err, len(reference.Names()))
	}
}

func TestServeComponentsSuggestsANameAndExitsWith2(t *testing.T) {
	out, err := exec.Command(binary(t), "serve", "components", "limit_rat").CombinedOutput()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 2 || !strings.Contains(string(out), `did you mean "limit_rate"?`) {
		t.Errorf("error %v, output %q; want exit status 2 and limit_rate", err, out)
	}
}
