package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"weir/lab/load"
)

// generatorConfig is where the environment of a child says what it is to generate: a Config as
// JSON.
const generatorConfig = "WEIR_TEST_GENERATOR"

// generate is the child: a generator in the namespace where the device is. Its report is on
// standard output.
func generate(config string) int {
	var c Config
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	r, err := Run(context.Background(), c, load.Events{})
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func TestMain(m *testing.M) {
	if config := os.Getenv(generatorConfig); config != "" {
		os.Exit(generate(config))
	}
	goleak.VerifyTestMain(m)
}
