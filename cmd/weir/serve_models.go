package main

import (
	"weir/serve"
	"weir/web/server"
)

type modelsCmd struct {
	JSON bool `name:"json" help:"Write the table as JSON."`
}

// Help is the long part of the command's help.
func (*modelsCmd) Help() string {
	return `An engine serves HTTP/1, with TLS and without, by a concurrency model. HTTP/2 and HTTP/3 run in goroutines of their own, whatever the model. Models with several processes reject limits of rates and of concurrency, logins by password, caches, metrics, live events, several servers in one site file, the admin page, HTTP/3 and managed certificates. docs/concurrency-models.md explains the models.

Examples:

  weir serve models
  weir serve www --engine http1 --model coroutine`
}

// engineModel reports whether an engine runs by a concurrency model.
type engineModel struct {
	Engine string `json:"engine"`
	Model  string `json:"model"`
	Runs   bool   `json:"runs"`
	Note   string `json:"note,omitempty"` // why it does not run, or what it rejects
}

// Run implements the command.
func (c *modelsCmd) Run(t *terminal) error {
	var all []engineModel
	for _, engine := range server.Engines() {
		for model := range serve.Ways {
			all = append(all, describeModel(engine, serve.Way(model)))
		}
	}
	if c.JSON {
		return t.json(all)
	}
	var rows [][]string
	for _, one := range all {
		rows = append(rows, []string{one.Engine, one.Model, map[bool]string{true: "yes", false: "no"}[one.Runs], one.Note})
	}
	writeTable(t.out, []column{{title: "engine"}, {title: "model"}, {title: "runs"}, {title: "note"}}, rows, 0, nil)
	return nil
}

// describeModel returns the row of the table for an engine and a model.
func describeModel(engine string, model serve.Way) engineModel {
	one := engineModel{Engine: engine, Model: model.String(), Runs: true}
	err := server.Unsupported(engine, model)
	switch info := serve.Ways[model]; {
	case err != nil:
		one.Runs, one.Note = false, "net/http: goroutines only"
	case info.MultiProcess:
		one.Note = "rejects state of one process"
	case info.NeedsDescriptor:
		one.Note = "not with --stack"
	}
	return one
}
