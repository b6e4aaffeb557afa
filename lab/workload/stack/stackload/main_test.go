package stackload

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"weir/lab/load"
)

// generatorConfig is the environment variable with the Config of a child process as JSON.
const generatorConfig = "WEIR_TEST_GENERATOR"

// generate is the child process: a generator in the namespace of the device. It writes its report
// to standard output.
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
