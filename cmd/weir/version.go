package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker when make builds the binary; "unknown" otherwise.
var version = "unknown"

// versionCmd prints the version, to be stated beside a result.
type versionCmd struct {
	JSON bool `help:"Print one JSON object."`
}

// Help implements kong.HelpProvider.
func (c *versionCmd) Help() string {
	return `Example:

  weir version --json`
}

// Run prints the version, the Go release it was built with and the platform.
func (c *versionCmd) Run(t *terminal) error {
	v := struct {
		Version  string `json:"version"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{buildVersion(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if c.JSON {
		return json.NewEncoder(t.out).Encode(v)
	}
	_, err := fmt.Fprintf(t.out, "weir %s, %s, %s\n", v.Version, v.Go, v.Platform)
	return err
}

// buildVersion returns the version that the linker set, or else that of the module if the binary
// was installed by its module path.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && version == "unknown" && info.Main.Version != "" {
		return info.Main.Version
	}
	return version
}
