package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"weir/lab/contract"
	"weir/lab/report"
	"weir/lab/workload"
	"weir/lab/workload/chat"
	"weir/lab/workload/grpc"
	"weir/lab/workload/http"
	"weir/lab/workload/stack"
	"weir/lab/workload/stream"
	"weir/lab/workload/websocket"
)

// kind is a workload as the lab reads it from files.
type kind struct {
	name string
	workload.Workload
	format
}

// format decodes the loads of a workload.
type format interface {
	// decode decodes an experiment with its loads from TOML.
	decode(text []byte, d *document) error
	// owns reports whether a load is of the workload.
	owns(l workload.Load) bool
	// decodeJSON decodes loads from JSON.
	decodeJSON(text []byte) ([]workload.Load, error)
}

// kinds are the workloads by the values of Settings.Workload.
var kinds = []kind{
	{"sink", stream.Workload{}, loadsOf[stream.Load]{}},
	{"echo", stream.Workload{Echo: true}, loadsOf[stream.Load]{}},
	{http.Page, http.Workload{}, loadsOf[http.Load]{}},
	{http.Files, http.Workload{}, loadsOf[http.Load]{}},
	{http.Proxy, http.Workload{}, loadsOf[http.Load]{}},
	{http.Requests, http.Workload{Described: true}, loadsOf[http.Load]{}},
	{websocket.Name, websocket.Workload{}, loadsOf[websocket.Load]{}},
	{grpc.Name, grpc.Workload{}, loadsOf[grpc.Load]{}},
	{"chat", chat.Workload{}, loadsOf[chat.Load]{}},
	{"stack", stack.Workload{}, loadsOf[stack.Load]{}},
}

// kindNamed returns the workload of that name.
func kindNamed(name string) (kind, error) {
	for _, k := range kinds {
		if k.name == name {
			return k, nil
		}
	}
	return kind{}, fmt.Errorf("workload: must be %s", kindNames("or"))
}

// ReportKind returns what reports and comparisons need to know of a workload: that of streams for
// an unknown one, as another version's results may have.
func ReportKind(workload string) report.Kind {
	k, err := kindNamed(workload)
	if err != nil {
		k = kinds[0]
	}
	return k.Report()
}

// ContractKinds returns the contracts of all workloads, for contract.Run.
func ContractKinds() (all []contract.Kind) {
	for _, k := range kinds {
		if c := k.Contract(); c.Workloads[0] == k.name { // one contract is for several workloads
			all = append(all, c)
		}
	}
	return all
}

// kindNames lists the workloads as a phrase: "sink, echo or chat".
func kindNames(conjunction string) string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + conjunction + " " + names[last]
}

// document is the text of an experiment without its loads.
type document struct {
	Name string `toml:"name"`
	Settings
	Variants map[string]map[string]any `toml:"variant"`
}

// loadsOf is the format of a workload whose loads have the type L.
type loadsOf[L any] struct{}

func (loadsOf[L]) decode(text []byte, d *document) error {
	whole := struct {
		*document
		Given []*L `toml:"load"`
	}{document: d}
	if err := decodeStrict(text, &whole); err != nil {
		return err
	}
	if whole.Given != nil {
		d.Loads = asLoads(whole.Given)
	}
	return nil
}

func (loadsOf[L]) owns(l workload.Load) bool {
	_, ok := any(l).(*L)
	return ok
}

func (loadsOf[L]) decodeJSON(text []byte) ([]workload.Load, error) {
	var given []*L
	err := json.Unmarshal(text, &given)
	return asLoads(given), err
}

// asLoads converts loads, whose type implements workload.Load.
func asLoads[L any](given []*L) []workload.Load {
	all := make([]workload.Load, len(given))
	for i, l := range given {
		all[i] = any(l).(workload.Load)
	}
	return all
}

// decodeStrict decodes TOML and rejects keys that v does not have. The error gives the line and the
// key.
func decodeStrict(text []byte, v any) error {
	d := toml.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		row, _ := strict.Errors[0].Position()
		return fmt.Errorf("line %d: there is no setting %q: remove it or correct its name", row, strings.Join(strict.Errors[0].Key(), "."))
	}
	var syntax *toml.DecodeError
	if errors.As(err, &syntax) {
		row, column := syntax.Position()
		return fmt.Errorf("line %d, column %d: %w", row, column, err)
	}
	return err
}
